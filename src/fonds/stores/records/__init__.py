"""SQL backend of the port Records: tables, queries, migrations, message accounting (ledger) and row
counts (tallies).
"""
