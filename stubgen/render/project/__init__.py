"""Files that let pip, CMake and pkg-config use the package."""
