"""Counts of entries, failures, messages of steps, and table rows, for reports, commands
and pages.
"""
