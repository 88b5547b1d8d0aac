"""Command-line interface: one file per command group."""
