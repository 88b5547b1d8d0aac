"""What a paper says of itself and what it cites: out of TEI, JATS or a PDF's own text; pure."""
