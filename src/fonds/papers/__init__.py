"""What papers say of themselves and cite: asked of GROBID, and kept."""
