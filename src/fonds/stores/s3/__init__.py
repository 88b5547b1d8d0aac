"""S3: bucket addresses, error messages, and reading and writing of objects."""
