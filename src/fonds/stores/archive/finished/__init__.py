"""What is done with WARC files of ours that are finished: looked at, moved to a bucket, purged."""
