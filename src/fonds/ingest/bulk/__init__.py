"""Bulk jobs: backfill of CDX indexes, and extraction of PDFs and pages from any list of WARCs.

Extraction uses the pipeline's own steps. Records are identified in their WARCs and grouped by the
SHA-1 of their bodies, and each body is extracted once. Every record of every WARC ends with exactly
one disposition.
"""
