"""Formats of messages on public topics (JSON and pictures), which other programs read and write."""
