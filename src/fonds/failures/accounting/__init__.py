"""Counts of entries, failures, steps and table rows, for reports, commands and pages."""
