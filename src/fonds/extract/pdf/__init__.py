"""Everything Fonds learns from one PDF: text, metadata and thumbnail."""
