"""What nobody is shown until a date: hidden, listed, and shown again."""
