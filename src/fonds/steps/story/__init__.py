"""Steps that read news pages and keep what they gave."""
