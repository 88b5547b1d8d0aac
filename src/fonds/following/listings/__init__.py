"""Parsers for listings of links: feeds, sitemaps, pages, tables and APIs of other programs."""
