"""Article extraction: the text, date, title, authors and rights statements of a page."""
