"""Texts to terms: words by language, counted, with near-duplicates found."""
