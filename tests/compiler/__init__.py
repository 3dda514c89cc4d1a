"""What the one room that knows the DSL makes of declarations; the DSL is imported once, into this process."""
