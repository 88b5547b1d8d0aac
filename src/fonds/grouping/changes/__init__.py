"""Changes to collections of documents: put, delete and move documents, each change atomic."""
