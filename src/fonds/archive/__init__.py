"""Web archives: reading and writing WARC files, storage of the WARC files that Fonds writes, CDX
indexes, and replay of captures.
"""
