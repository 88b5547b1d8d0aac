"""Full-text indexes: implementations of the Index port with tantivy, Elasticsearch and OpenSearch."""
