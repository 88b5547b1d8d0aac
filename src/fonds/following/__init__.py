"""Followed sources, such as feeds and sitemaps: when to poll each source, what a poll finds, and
how healthy a source is.
"""
