"""Parsers for listings of links: feeds, sitemaps, pages, tables and responses of APIs."""
