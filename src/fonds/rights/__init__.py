"""Rights and usage preferences that websites and files state."""
