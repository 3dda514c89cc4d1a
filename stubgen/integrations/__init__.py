"""Build systems that call the tool: hatchling and CMake."""
