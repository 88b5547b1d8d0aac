"""Storage of bodies: read them from WARC files and other locations, and write them to the WARC
files of Fonds.
"""
