"""REST API of the grouping service: collections, documents, configurations, runs and clusters
(docs/rest.md).
"""
