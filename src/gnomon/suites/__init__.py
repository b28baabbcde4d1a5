"""The suites: each folder is one field's evaluation, whole, and imports no other suite."""
