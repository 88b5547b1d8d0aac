"""The language a text is in, by the text and by what is said of it; `codes` needs no model."""
