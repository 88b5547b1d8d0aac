"""Backends of the Table port."""
