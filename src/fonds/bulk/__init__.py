"""Bulk work as data: jobs that read parts, bring records into order and write them in batches."""
