"""Feeds: a strict reader for those that are what they say, a lenient one for the rest, JSON Feed."""
