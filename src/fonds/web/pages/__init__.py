"""Web pages and their JSON versions: one module per subject, each with its routes."""
