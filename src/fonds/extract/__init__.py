"""Bytes to knowledge: type, PDF text and thumbnail, article, language, date; pure functions."""
