"""The article in a page: text, date, and what the page says of itself."""
