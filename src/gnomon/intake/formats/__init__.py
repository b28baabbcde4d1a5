"""File formats of single fields, a module for each."""
