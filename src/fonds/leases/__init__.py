"""Leases, which let one process at a time do a piece of work."""
