"""Flavours: which step reads and writes which topic; data, no logic."""
