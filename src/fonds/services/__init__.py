"""Clients of servers that do a part of the work."""
