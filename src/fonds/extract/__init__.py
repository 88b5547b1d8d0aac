"""Extraction from bytes: file type, PDF text and thumbnail, article, language, date. Pure
functions.
"""
