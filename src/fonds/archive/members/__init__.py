"""Compression framing of WARC and ARC files: plain bytes, gzip members, zstd frames, bzip2, XZ and
LZ4.

A member is one separately compressed unit of a file. Its format is recognised by its first bytes.
"""
