"""Rebuild of clusterings: build, store, publish, and clean up."""
