"""Table backends: SQLite and HBase."""
