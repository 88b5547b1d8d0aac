"""Embargoes and takedowns: files that readers may not see."""
