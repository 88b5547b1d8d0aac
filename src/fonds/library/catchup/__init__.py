"""Files read again that never were, that failed, or that an older extractor read: of any kind."""
