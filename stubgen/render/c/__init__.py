"""The C headers."""
