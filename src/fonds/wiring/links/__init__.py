"""Links and what lists them: what fetches, what follows sources, and which lists were read."""
