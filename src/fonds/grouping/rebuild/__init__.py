"""A clustering built, stored, made visible, and what it leaves removed."""
