"""REST API of the grouping service: collections, documents, configurations, runs and clusters
(described in docs/rest.md).
"""
