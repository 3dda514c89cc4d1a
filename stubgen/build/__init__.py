"""The pipeline, step by step."""
