"""Files read in the browser: PDFs page by page, bytes, versions, edits, citations and neighbours."""
