"""Framing of a WARC or ARC file: plain stretches, gzip members and zstd frames, told apart by content."""
