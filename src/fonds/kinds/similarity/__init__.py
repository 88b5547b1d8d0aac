"""What a story's text is told from others by: its sketch, its versions, what is nearly the same."""
