"""The settings in ``pyproject.toml``, device profiles, and the data files that kernels read."""
