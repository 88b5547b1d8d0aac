"""Records of WARC and ARC files: scan of heads, reading by offset, validation and writing."""
