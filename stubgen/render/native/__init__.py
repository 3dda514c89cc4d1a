"""The C that is compiled into the library."""
