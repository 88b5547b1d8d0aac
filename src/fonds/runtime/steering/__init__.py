"""What people do to messages by hand: set apart, put back, taken off, sent again."""
