"""The page of a collection: the list of its themes, and the map of them."""

from fonds.web.themes.collection.page import router

__all__ = ["router"]
