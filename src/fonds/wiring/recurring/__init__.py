"""What is done again and again in a home, and what it is done with."""
