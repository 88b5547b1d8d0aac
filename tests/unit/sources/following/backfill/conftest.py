"""The world polls are tested in."""

from unit.sources.following.world import world

__all__ = ["world"]
