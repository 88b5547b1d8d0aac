"""The world polls are tested in."""

from unit.following.world import world

__all__ = ["world"]
