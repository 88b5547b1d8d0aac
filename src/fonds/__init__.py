"""Fonds turns crawls into a library: it extracts files and stories from web archives and makes them
searchable.
"""

__version__ = "0.1.0"
