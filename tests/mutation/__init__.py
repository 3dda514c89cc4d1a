"""What tests notice: code changed in one place at a time, and the tests that fail for it.

``python -m tests.mutation FOLDER`` draws mutants of the rooms in ``rooms.toml``, runs for each the tests that
execute its line, and lists those that survive.
"""
