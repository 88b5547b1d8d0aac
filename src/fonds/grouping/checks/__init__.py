"""Collections held against themselves: what does not agree is named, and made again."""
