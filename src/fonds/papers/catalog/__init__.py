"""Catalogue of works in a wide-row table, found by identifier, title, or first author and year.

One table holds both records and lookup keys, distinguished by the first byte of the key, so that
they are copied and dumped together. `docs/matching.md` describes the keys.
"""
