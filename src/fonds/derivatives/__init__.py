"""Derivatives: data computed from files, such as text, metadata, thumbnails and bibliographies."""
