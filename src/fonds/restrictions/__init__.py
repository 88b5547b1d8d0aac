"""Embargoes and takedowns: files that readers may not see until a date, or never again."""
