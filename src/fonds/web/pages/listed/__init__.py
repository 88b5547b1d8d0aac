"""Long lists behind a number: records by what became of them, files by their type."""
