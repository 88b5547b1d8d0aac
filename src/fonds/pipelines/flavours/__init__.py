"""Flavours: named pipelines, each declared as data."""
