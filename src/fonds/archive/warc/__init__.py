"""Records of WARC and ARC files: scan their headers, read them by offset, validate them, and write
them.
"""
