"""The sources that are followed: how each stands, and where their links got lost."""
