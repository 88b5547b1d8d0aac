"""The steps that make a database what `schema.py` says, oldest first; each is frozen once released."""
