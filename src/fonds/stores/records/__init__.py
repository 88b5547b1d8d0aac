"""Backends of the Records port."""
