"""Backfill: captures out of CDX files of any size into the table and the records.

Which line is kept, which capture of a file is the best, and how captures of one file come together, are
functions of values; the job around them holds nothing but URLs.
"""
