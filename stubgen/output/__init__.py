"""The package as files: what is written, how, and the records of it."""
