"""Bodies read from their places and written to WARC files of our own."""
