"""Migrations of the SQL database, oldest first. A released migration never changes."""
