"""Rebuild of clusterings: build one from all documents, store it, publish it, remove old ones."""
