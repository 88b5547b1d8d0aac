"""URLs: splitting, normalization, story ids, sort keys (SURT), domains, front pages and short
links.
"""
