"""Assemble the system: map URLs to backends and names to steps.

Only this package names technologies. A backend is imported when its URL is used, and parsers only
when files are read, so commands that only look start quickly.
"""
