"""Derivatives: what is computed from files, such as text, metadata, thumbnails and bibliographies."""
