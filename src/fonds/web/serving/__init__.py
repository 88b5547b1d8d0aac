"""HTTP serving: connections with deadlines, concurrency limits, range requests and content
codings."""
