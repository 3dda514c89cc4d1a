"""The C++ headers."""
