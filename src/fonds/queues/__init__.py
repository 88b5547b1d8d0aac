"""Backends of the Queue port."""
