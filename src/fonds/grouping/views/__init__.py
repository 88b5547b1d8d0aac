"""Read-only views of collections, clusterings and themes: plain functions over the rows."""
