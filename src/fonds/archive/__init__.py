"""Web archives: WARC codecs, our own WARC files, CDX, and replay."""
