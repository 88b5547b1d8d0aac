"""Who asks, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What somebody may do, from little to much; each role may do what those before it may."""

    READER = "reader"
    CURATOR = "curator"
    ADMIN = "admin"

    def covers(self, role: Role) -> bool:
        """Whether this role may do what needs at least the role `role`. Never ask by `<`: these are texts,
        and the alphabet has them in another order."""
        roles = tuple(Role)
        return roles.index(self) >= roles.index(role)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks: the name of their key, empty for whoever showed none; and their role."""

    name: str
    role: Role

    def has_role(self, role: Role) -> bool:
        """Whether they may do what needs at least the role `role`."""
        return self.role.covers(role)
