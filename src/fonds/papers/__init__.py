"""Bibliographies and references of papers: extracted from PDFs and JATS, stored, and matched to
works.
"""
