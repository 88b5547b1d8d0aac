"""SQL database with the rows that people query: tables, queries and migrations.

It also contains the ledger (how every message ended) and the tallies (stored row counts). It
implements the interface Records (`ports/records.py`).
"""
