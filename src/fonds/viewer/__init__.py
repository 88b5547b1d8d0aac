"""Views of one file: description, history, versions, edits, citation, PDF pages and raw bytes."""
