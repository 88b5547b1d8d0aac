"""Views of one document: description, history, versions, edits, citation, PDF pages and raw bytes."""
