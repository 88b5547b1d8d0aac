"""Ingest: read captures and links from paths, lists and CDX indexes, and store their files in a
library.
"""
