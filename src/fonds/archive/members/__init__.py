"""Framing of WARC and ARC files: plain ranges, gzip members and zstd frames, recognised by content."""
