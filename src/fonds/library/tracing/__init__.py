"""What became of something, where it waits, and which sources should have had it."""
