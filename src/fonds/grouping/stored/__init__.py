"""Row keys and stored values of collections, documents and clusterings; `docs/grouping.md` shows their
bytes."""
