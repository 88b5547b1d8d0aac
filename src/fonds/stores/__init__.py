"""Storage backends: SQL records, wide table, blobs and S3, and the migrations of the records."""
