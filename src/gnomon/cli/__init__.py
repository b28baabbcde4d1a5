"""The command line: one thin module per verb over the same functions that Python users call."""
