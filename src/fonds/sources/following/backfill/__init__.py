"""Backfills: what a source published in days of before, asked for by a person and read page by page."""
