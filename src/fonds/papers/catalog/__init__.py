"""A catalogue of works in a wide-row table: found by identifier, by title, by first author and year.

One table holds it, its keys told apart by their first byte, so that what finds a work and what is kept of it
travel and are dumped together. `docs/matching.md` says what lies where.
"""
