"""Backends of the Blobs port."""
