"""The command line: options, progress, exit codes, the standard streams."""
