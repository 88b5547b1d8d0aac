"""The pages of a PDF: their text in reading order, how they came to be, pictures of the first."""
