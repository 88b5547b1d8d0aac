"""URLs: splitting, normalization, story ids, sort keys (SURT), domains, and detection of front
pages and short links.
"""
