"""Hot kernels and geometry: plain arrays in, plain arrays out, no knowledge of suites or files."""
