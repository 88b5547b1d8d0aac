"""Vectors to clusters: topics, stories, factors and density, behind one signature."""
