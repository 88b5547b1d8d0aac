"""The kinds of what papers say of themselves and cite: read by GROBID, from the PDF, from JATS."""
