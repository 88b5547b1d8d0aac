"""Followed sources: when each is polled, what polls find, and how healthy sources are."""
