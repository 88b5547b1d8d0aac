"""S3 storage: bucket addresses, error messages, and reading and writing of objects."""
