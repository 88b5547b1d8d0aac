"""Backends of the Index port."""
