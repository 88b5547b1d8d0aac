"""Ingest: read captures and links from paths, lists and indexes, and store their files in a
library.
"""
