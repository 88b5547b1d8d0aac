"""Steps that read PDFs and keep what they gave."""
