"""Sources of an ingest: paths, archives, indexes, and lists of links or tasks."""
