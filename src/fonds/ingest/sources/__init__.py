"""Inputs that an ingest can read: folders, WARC and ZIP archives, CDX indexes, and lists of links
or of tasks from other programs."""
