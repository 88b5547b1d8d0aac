"""Users and their roles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Roles of users in ascending order; each role includes the rights of those before it."""

    READER = "reader"
    CURATOR = "curator"
    ADMIN = "admin"

    def covers(self, role: Role) -> bool:
        """Return whether this role includes the rights of `role`.

        Do not compare roles with `<`: they are strings and would be compared alphabetically.
        """
        roles = tuple(Role)
        return roles.index(self) >= roles.index(role)


@dataclass(frozen=True, slots=True)
class Viewer:
    """User who sends a request.

    - `name`: name of the user's access key; "" for a user without an access key.
    - `role`: permissions of the user.
    """

    name: str
    role: Role

    def has_role(self, role: Role) -> bool:
        """Return whether the user has at least the role `role`."""
        return self.role.covers(role)
