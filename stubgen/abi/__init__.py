"""What compiled functions and their callers agree on: signatures, symbols, the build id."""
