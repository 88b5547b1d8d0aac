"""Leases: what one process alone may do at a time."""
