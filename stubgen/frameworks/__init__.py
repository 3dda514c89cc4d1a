"""Which functions the modules for PyTorch and JAX have, and how these make their outputs."""
