"""Domain values of Fonds as frozen types, table rows, and errors.

Nothing here reads a clock or opens files.
"""
