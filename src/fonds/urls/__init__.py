"""Addresses of pages: one spelling for each, ids, the domain that answers, front pages and short links."""
