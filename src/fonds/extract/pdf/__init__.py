"""PDF extraction: text, metadata, thumbnails and page views."""
