"""The journal-extract table: its schema, keys and cells, and its dump formats.

Source: seed 000, "PDF Table".
"""
