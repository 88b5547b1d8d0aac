"""Read-only views of collections, clusterings and themes, computed from the stored rows."""
