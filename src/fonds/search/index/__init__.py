"""Full-text indexes: the Index port with tantivy, Elasticsearch and OpenSearch."""
