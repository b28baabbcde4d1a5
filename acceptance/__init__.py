"""Every promise as a script: it prints its figure and exits non-zero when it falls short."""
