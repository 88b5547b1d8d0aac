"""Web archives: WARC codecs, WARC files written by Fonds, CDX indexes and replay."""
