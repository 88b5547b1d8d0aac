"""Steps that take a capture in: identified, noted, archived."""
