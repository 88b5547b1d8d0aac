"""Buckets of S3 servers: where they are, what their answers mean, objects read and written."""
