"""Grouping as a service: collections, documents, configurations, runs and clusters by REST, docs/rest.md."""
