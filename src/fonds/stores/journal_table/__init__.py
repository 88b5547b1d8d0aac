"""The journal-extract table: its schema, its keys, its cells, and the forms it comes in and goes out by.

Source: seed 000, "PDF Table"."""
