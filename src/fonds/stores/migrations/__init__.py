"""Migrations of the records, oldest first. A released migration never changes."""
