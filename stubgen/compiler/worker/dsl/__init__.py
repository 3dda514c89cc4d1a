"""The private corners of the DSL that the tool must touch."""
