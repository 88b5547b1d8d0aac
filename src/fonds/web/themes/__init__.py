"""The pages of collections: their themes as a list and a map, each theme, each document's place."""

from fonds.web.themes import collection, listing, placed, theme

ROUTERS = (listing.router, collection.router, placed.router, theme.router)

__all__ = ["ROUTERS"]
