"""Pages and their JSON: one module per subject, each with its routes."""
