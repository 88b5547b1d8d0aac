"""The overview: what came in and what became of it, of all and day by day."""
