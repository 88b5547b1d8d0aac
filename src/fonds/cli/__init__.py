"""Command-line interface of Fonds: one file per command group."""
