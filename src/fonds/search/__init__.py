"""What stands beside and behind a search: things named in it, and its whole result written out."""
