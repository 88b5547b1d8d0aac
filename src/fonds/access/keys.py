"""Keys: made, listed, revoked, and recognised when somebody shows one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fonds.access.secret import Token, new_token, token_of
from fonds.model.access import Role, Viewer
from fonds.model.names import no_such
from fonds.model.rows import AccessKeyRow, SessionRow
from fonds.ports import Records

KIND = "fonds"
KEYS_MAX = 1_000
OF_ONE_PREFIX_MAX = 4
REASON_CHARACTERS_MAX = 500
USED_EVERY = timedelta(minutes=10)
"""So often at most the last use of a key is written."""
NAME_CHARACTERS_MAX = 60
_NAME = re.compile(rf"[a-z0-9][a-z0-9._@-]{{0,{NAME_CHARACTERS_MAX - 1}}}")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key and its secret, which is nowhere else: only its SHA-256 is kept."""

    row: AccessKeyRow
    secret: str = field(repr=False)


@dataclass(slots=True)
class Keys:
    """The keys of a home. Safe for several threads."""

    records: Records
    now: Callable[[], datetime]
    _are_made: bool = False

    def are_made(self) -> bool:
        """Whether anybody ever made a key. A revoked one counts, so that revoking the last opens nothing."""
        if not self._are_made:
            self._are_made = bool(list(self.records.find(AccessKeyRow, count_max=1)))
        return self._are_made

    def create(self, name: str, role: Role, made_by: str, until: datetime | None = None) -> NewKey:
        """A key nobody had. Raises ValueError for a name that is none or was given out, for an end that is
        past, and where there are too many keys.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name[:100]!r} is no name of a key:"
                f" at most {NAME_CHARACTERS_MAX} of a-z, 0-9, ., _, @ and -"
            )
        now = self.now()
        if until is not None and until <= now:
            raise ValueError("the key would end before it begins")
        if self.records.count(AccessKeyRow).get((), 0) >= KEYS_MAX:
            raise ValueError(f"there are {KEYS_MAX:,} keys, which is as many as may be")
        token = new_token(KIND)
        row = AccessKeyRow(
            name, role.value, token.prefix, token.sha256hex, made_by, now, until=until
        )
        # Whoever comes first has the name: the second one's row is left out, and is told so.
        self.records.put([row], replace=False)
        if [one.sha256hex for one in self.records.get(AccessKeyRow, [name])] != [row.sha256hex]:
            raise ValueError(f"the name {name!r} was given out before; names are never used again")
        return NewKey(row, token.text)

    def every(self) -> list[AccessKeyRow]:
        """All keys by their names, those revoked too."""
        return list(self.records.find(AccessKeyRow, order=("name",), count_max=KEYS_MAX))

    def revoke(self, name: str, revoked_by: str, reason: str) -> AccessKeyRow:
        """From now on nobody gets in with it, nor with a session it began. Revoked before, it stays so.

        Raises ValueError for a name no key has, naming the nearest.
        """
        if len(reason) > REASON_CHARACTERS_MAX:
            raise ValueError(f"a reason has at most {REASON_CHARACTERS_MAX} characters")
        if not self.records.get(AccessKeyRow, [name]):
            raise ValueError(no_such("key", name, [one.name for one in self.every()]))
        said = {"revoked": self.now(), "revoked_by": revoked_by, "revoked_reason": reason}
        self.records.change(AccessKeyRow, [name], said, where={"revoked": None})
        rows = self.records.find(SessionRow, {"key_name": name})
        self.records.delete(SessionRow, [row.session_id for row in rows])
        return self.records.get(AccessKeyRow, [name])[0]

    def shown(self, text: str) -> AccessKeyRow | None:
        """The key of this secret; None for what is no secret of a key that is good now."""
        token = token_of(KIND, text)
        found = None if token is None else self._row_of(token)
        return found if found is not None and self.is_good(found) else None

    def is_good(self, row: AccessKeyRow) -> bool:
        """Whether the key is neither revoked nor at its end."""
        return row.revoked is None and (row.until is None or self.now() < row.until)

    def used(self, row: AccessKeyRow) -> None:
        """Note that it is in use, ten minutes apart at least; of several at once one does."""
        now = self.now()
        if row.last_used is None or now - row.last_used >= USED_EVERY:
            was = {"last_used": row.last_used}
            self.records.change(AccessKeyRow, [row.name], {"last_used": now}, where=was)

    def _row_of(self, token: Token) -> AccessKeyRow | None:
        where = {"prefix": token.prefix}
        rows = list(self.records.find(AccessKeyRow, where, count_max=OF_ONE_PREFIX_MAX))
        return next((row for row in rows if token.is_known_by(row.sha256hex)), None)


def viewer_by(row: AccessKeyRow) -> Viewer:
    """Whoever holds this key."""
    return Viewer(row.name, Role(row.role))
