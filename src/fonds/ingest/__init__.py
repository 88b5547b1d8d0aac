"""Ingest: from paths, lists and indexes to files in the stores."""
