"""What a generated package holds, found out without importing or loading it."""
