"""Paces: how work is done between taking messages and letting go of them."""
