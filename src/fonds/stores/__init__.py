"""Backends of the stores: table, records, blobs, index, archive."""
