"""The port Index on Elasticsearch and OpenSearch, each by its own client."""
