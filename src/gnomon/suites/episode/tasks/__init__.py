"""The twelve tasks: what a sample reads, what it is to give, and on which side of the split it is."""
