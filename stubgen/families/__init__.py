"""How a call tells the variants of a family apart, and what is wrong with a set of them."""
