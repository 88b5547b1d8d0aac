"""Consistency checks of collections: find damage and repair it."""
