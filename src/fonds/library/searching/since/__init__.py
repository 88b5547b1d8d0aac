"""What became of results, and what was found before: one vocabulary for why a result is another now."""
