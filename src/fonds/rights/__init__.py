"""Rights and usage preferences that others state about files."""
