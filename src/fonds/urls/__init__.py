"""URLs: parts, normalization, ids, SURT keys, domains, front pages and short links."""
