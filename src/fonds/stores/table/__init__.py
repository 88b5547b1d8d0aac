"""Backends of the wide-row table: SQLite and HBase."""
