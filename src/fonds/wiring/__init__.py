"""Puts the system together: which class stands behind a URL, and which step behind a name.

The only room that names technologies. Backends are imported when their URL is chosen, and the parsers
only by what reads files, so that commands that only look start at once.
"""
