"""Bodies: read from their places, and written to WARC files by Fonds."""
