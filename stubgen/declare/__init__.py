"""What kernel authors write: declarations and their arguments, as they were written."""
