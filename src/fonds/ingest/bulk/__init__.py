"""Bulk jobs: backfill from CDX indexes, and extraction of PDFs and pages from a list of WARCs.

Extraction uses the steps of the pipelines. It identifies the record of each capture and groups the
records by the SHA-1 of their bodies. It extracts each distinct body once. Every record of every
WARC ends with exactly one disposition (done, dropped or quarantined).
"""
