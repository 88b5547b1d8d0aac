"""Statements about the use of works: licences, holders and preferences, read from what others write."""
