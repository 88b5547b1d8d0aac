"""Pages of a PDF as pictures, and where on them the words stand."""
