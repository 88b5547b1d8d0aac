"""Backends of the stores: SQL database, HBase-like table, blobs and S3, with the migrations of the
SQL database.
"""
