"""Reading tables, arrays and JSON that come from outside, and writing them.

A file from outside is hostile: its size, depth and declared shapes are checked before anything is
allocated, nothing in it is ever executed, and whatever is wrong with it ends as one
:class:`gnomon.core.errors.InputError` whose message is one line that names the file.

``tables``
    ``read_table``: CSV, TSV, Parquet, JSON lines and NPZ as an Arrow table.
``arrays``
    ``read_npz``: NumPy arrays, without pickle; ``objects=True`` reads arrays of objects through the allow-list below.
``pickles``
    ``read_pickle``: plain values and NumPy arrays of a pickle, through an exact allow-list, without Python's unpickler.
``clouds``
    ``read_cloud`` and ``write_cloud``: point clouds as PCD, PLY and NPZ.
``documents``
    ``read_json`` and ``read_bytes``: one bounded document.
``writing``
    ``write_table``: the same formats, written so that reading gives the same text back.
``limits``
    What a file may cost, as data.
``shards``
    ``listed`` and ``paired``: folders of files that are read one at a time; ``Plain``: an array read in parts.
``disks``
    ``opened``: parts of a file, through the system's cache or past it.
``remote``
    ``local``: data by its address (URL), fetched once and kept.
"""
