"""Sources that are followed: when each is polled, what a poll finds, and what becomes known of it."""
