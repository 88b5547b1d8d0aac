"""How pages are handed out: connections with deadlines, work at once, ranges and codings."""
