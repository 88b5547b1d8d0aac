"""Lookup and replay of captures: CDX queries, Memento, and the bodies of captures and revisits."""
