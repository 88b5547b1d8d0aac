"""Extraction in bulk: PDFs and pages of any list of WARCs, by the pipeline's own steps, with books kept.

Records are identified where they lie, brought together by the SHA-1 of their bodies, and each body is read
once. Every record of every WARC ends with exactly one disposition.
"""
