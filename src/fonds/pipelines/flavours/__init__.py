"""Flavours of pipelines, as data."""
