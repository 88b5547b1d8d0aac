"""Failures: quarantined entries in groups, automatic retries, and people's decisions to retry or
accept.
"""
