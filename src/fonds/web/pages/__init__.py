"""The pages and their JSON: one module a subject, each with its routes."""
