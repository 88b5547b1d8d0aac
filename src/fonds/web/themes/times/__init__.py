"""Themes over time: the courses of the largest, what moved since the clustering before, and the documents."""

from fonds.web.themes.times import listed, over_time

ROUTERS = (over_time.router, listed.router)

__all__ = ["ROUTERS"]
