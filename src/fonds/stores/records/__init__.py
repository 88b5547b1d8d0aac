"""SQL backend of the Records port: tables, queries, migrations, ledger and tallies."""
