"""Bytes to values and back: WARC, CDX, SURT, envelopes; no sockets, no file names."""
