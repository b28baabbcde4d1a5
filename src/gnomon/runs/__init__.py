"""The run directory: what an evaluation leaves behind, and how it is checked.

A run is one protocol and one system. Its directory holds

``manifest.json``       what was asked, what it resolved to, on what data, by which code and machine
``coverage.json``       who the cases are, what is missing, and whether the run is complete
``tallies.npz``         per-case tallies, from which every score can be derived again
``ledgers.npz``         rows for what is not additive
``scores.json``         every score with its count and interval; equal inputs give equal bytes
``audit.json``          findings, the checks that gave them and those that were not made, the verdict on every claim
``samples.parquet``     what was trained on and tested on, without the data, where something was trained
``predictions.parquet`` what was scored; of shards mostly their names and fingerprints
``seal.sha256``         the SHA-256 of every other file, readable by ``sha256sum -c``

and is published by rename, so that a directory under its final name is always whole.
"""
