"""Collections of documents and their clusterings."""
