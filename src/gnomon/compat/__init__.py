"""Published names and commands, kept for those who use them."""
