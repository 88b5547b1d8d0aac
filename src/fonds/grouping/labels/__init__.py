"""Clusters to words: what sets each apart, as its documents spell it."""
