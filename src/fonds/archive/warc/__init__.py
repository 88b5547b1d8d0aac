"""Records of WARC and ARC files: a scan of their heads, one record by its offset, all of them checked."""
