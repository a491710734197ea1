"""What was asked: files and flags, read into one value of settings."""
