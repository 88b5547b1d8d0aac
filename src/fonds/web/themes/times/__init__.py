"""Themes over time: the courses of the largest, and their documents by day."""

from fonds.web.themes.times import listed, over_time

ROUTERS = (over_time.router, listed.router)

__all__ = ["ROUTERS"]
