"""The one loop, retry, quarantine, isolated child processes, accounting."""
