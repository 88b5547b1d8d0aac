"""Domain values of Fonds as frozen types, rows of SQL tables, and errors.

No function in this package reads a clock or opens a file.
"""
