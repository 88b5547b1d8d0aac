"""One theme: its page, and its course over time."""
