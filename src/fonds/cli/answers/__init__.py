"""Objects and fields of each command's `--json` output, as data for documentation and tests."""
