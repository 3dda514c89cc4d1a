"""What the compiler made of kernels, as plain data: how it is spelled, and what has to hold in it."""
