"""Bibliographies and references of papers: read from PDFs, JATS and GROBID, stored and matched."""
