"""Row keys and stored values of collections, documents and clusterings.

`docs/grouping.md` describes the bytes of each format.
"""
