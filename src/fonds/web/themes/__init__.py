"""The pages of collections: their themes as a list and a map, each theme, each document's place."""

from fonds.web.themes import collection, listing, placed
from fonds.web.themes.apart import page as apart
from fonds.web.themes.curating import acting, excluded, programs
from fonds.web.themes.theme import page as theme
from fonds.web.themes.times import ROUTERS as TIMES_ROUTERS

ROUTERS = (
    listing.router,
    collection.router,
    placed.router,
    apart.router,
    excluded.router,
    acting.router,
    programs.router,
    *TIMES_ROUTERS,
    theme.router,
)

__all__ = ["ROUTERS"]
