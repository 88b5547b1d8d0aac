"""Assembly of the system: maps URLs to storage backends and names to pipeline steps.

Only this package names technologies. A backend is imported when its URL is used, and parsers only
when files are read. So commands that only show something start quickly.
"""
