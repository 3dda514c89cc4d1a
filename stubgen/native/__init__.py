"""From LLVM IR and C to libraries, and reading them back; it takes C as text."""
