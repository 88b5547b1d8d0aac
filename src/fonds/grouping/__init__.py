"""Collections of documents, and the clusterings that group their documents into themes."""
