"""What became of something, and which sources should have had it."""
