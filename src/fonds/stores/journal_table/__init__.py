"""The journal-extract table, a wide table with one row per file: schema, row keys, cells and dump
formats.

Source: seed document 000, "PDF Table".
"""
