"""The pages of collections: their themes as a list and a map, each theme, each document's place."""

from fonds.web.themes import collection, listing, placed, theme
from fonds.web.themes.times import ROUTERS as TIMES_ROUTERS

ROUTERS = (listing.router, collection.router, placed.router, *TIMES_ROUTERS, theme.router)

__all__ = ["ROUTERS"]
