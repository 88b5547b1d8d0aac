"""The commands, one file a group; `fonds.cli.main` finds them by name."""
