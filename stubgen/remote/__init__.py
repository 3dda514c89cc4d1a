"""Other machines: stores that they share, and clusters that compile. Each part needs an extra of its own."""
