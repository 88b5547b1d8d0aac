"""Polls: what is asked of a source, now and of what it listed before, and what becomes known of it."""
