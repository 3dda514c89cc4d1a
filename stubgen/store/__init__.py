"""What was compiled before, found again by its hash: in a folder, or elsewhere."""
