"""Changes to collections: putting, deleting and moving documents, each change atomic."""
