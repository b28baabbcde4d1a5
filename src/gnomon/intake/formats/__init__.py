"""File formats that other programs write, one module each."""
