"""What lists links: feeds, sitemaps, pages, tables, what other programs list; bytes to values."""
