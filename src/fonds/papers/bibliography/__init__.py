"""Read a paper's metadata and references from TEI, JATS or PDF text. Pure functions."""
