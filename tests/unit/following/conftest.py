"""The world in which polls are tested."""

from unit.following.world import world

__all__ = ["world"]
