"""Search: requests, results, facets, exports, manifests and their verification."""
