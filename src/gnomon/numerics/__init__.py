"""Hot kernels and geometry: plain arrays in, plain arrays out, no knowledge of suites.

Only ``streaming`` knows files: it counts arrays that need not fit into memory, while it reads them.
"""
