"""Keys: made, listed, revoked, and recognised when somebody shows one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from secrets import choice, token_urlsafe

from fonds.model.access import Role, Viewer
from fonds.model.rows import AccessKeyRow, SessionRow
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Records

# Secrets of keys and sessions: made, recognised, and compared by what is stored of them.
#
# A secret has 256 random bits, so that SHA-256 of it is enough: a slow hash makes up for what people choose,
# and would cost every request what it costs an attacker.


SECRET_BYTES = 32
PREFIX_CHARACTERS = 8
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_TOKEN = re.compile(r"(fonds|session)_([a-z2-7]{8,16})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret as it is carried about: its kind, `prefix`, and what nobody can guess. `text` is the whole."""

    kind: str
    prefix: str
    text: str = field(repr=False)

    @property
    def sha256hex(self) -> str:
        """What is stored of it."""
        return sha256(self.text.encode()).hexdigest()

    def is_known_by(self, sha256hex: str) -> bool:
        """Whether this is the secret that was stored so; the time it takes tells nothing of either."""
        return compare_digest(self.sha256hex, sha256hex)


def create_token(kind: str, prefix_characters: int = PREFIX_CHARACTERS) -> Secret:
    """One nobody had before."""
    prefix = "".join(choice(_ALPHABET) for _ in range(prefix_characters))
    return Secret(kind, prefix, f"{kind}_{prefix}_{token_urlsafe(SECRET_BYTES)}")


def parse_token(kind: str, text: str) -> Secret | None:
    """The secret somebody showed; None for what is none of this kind."""
    match = _TOKEN.fullmatch(text)
    return Secret(kind, match[2], text) if match and match[1] == kind else None


KIND = "fonds"
KEYS_MAX = 1_000
PREFIX_KEYS_MAX = 4
REASON_MAX_CHARS = 500
USED_EVERY = timedelta(minutes=10)
"""So often at most the last use of a key is written."""
NAME_MAX_CHARS = 60
_NAME = re.compile(rf"[a-z0-9][a-z0-9._@-]{{0,{NAME_MAX_CHARS - 1}}}")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key and its secret, which is nowhere else: only its SHA-256 is kept."""

    row: AccessKeyRow
    secret: str = field(repr=False)


@dataclass(slots=True)
class AccessKeys:
    """The keys of a home. Safe for several threads."""

    records: Records
    clock: Callable[[], datetime]
    _has_any: bool = False

    def has_any(self) -> bool:
        """Whether anybody ever made a key. A revoked one counts, so that revoking the last opens nothing."""
        if not self._has_any:
            self._has_any = bool(list(self.records.find(AccessKeyRow, count_max=1)))
        return self._has_any

    def create(self, name: str, role: Role, made_by: str, until: datetime | None = None) -> NewKey:
        """A key nobody had. Raises ValueError for a name that is none or was given out, for an end that is
        past, and where there are too many keys.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name[:100]!r} is no name of a key:"
                f" at most {NAME_MAX_CHARS} of a-z, 0-9, ., _, @ and -"
            )
        now = self.clock()
        if until is not None and until <= now:
            raise ValueError("the key would end before it begins")
        if self.records.count(AccessKeyRow).get((), 0) >= KEYS_MAX:
            raise ValueError(f"there are {KEYS_MAX:,} keys, which is as many as may be")
        token = create_token(KIND)
        row = AccessKeyRow(
            name, role.value, token.prefix, token.sha256hex, made_by, now, until=until
        )
        # Whoever comes first has the name: the second one's row is left out, and is told so.
        self.records.put([row], replace=False)
        if [one.sha256hex for one in self.records.get(AccessKeyRow, [name])] != [row.sha256hex]:
            raise ValueError(f"the name {name!r} was given out before; names are never used again")
        return NewKey(row, token.text)

    def list_all(self) -> list[AccessKeyRow]:
        """All keys by their names, those revoked too."""
        return list(self.records.find(AccessKeyRow, order=("name",), count_max=KEYS_MAX))

    def revoke(self, name: str, revoked_by: str, reason: str) -> AccessKeyRow:
        """From now on nobody gets in with it, nor with a session it began. Revoked before, it stays so.

        Raises ValueError for a name no key has, naming the nearest.
        """
        if len(reason) > REASON_MAX_CHARS:
            raise ValueError(f"a reason has at most {REASON_MAX_CHARS} characters")
        if not self.records.get(AccessKeyRow, [name]):
            raise ValueError(
                format_unknown_name("key", name, [one.name for one in self.list_all()])
            )
        said = {"revoked": self.clock(), "revoked_by": revoked_by, "revoked_reason": reason}
        self.records.change(AccessKeyRow, [name], said, where={"revoked": None})
        rows = self.records.find(SessionRow, {"key_name": name})
        self.records.delete(SessionRow, [row.session_id for row in rows])
        return self.records.get(AccessKeyRow, [name])[0]

    def authenticate(self, text: str) -> AccessKeyRow | None:
        """The key of this secret; None for what is no secret of a key that is good now."""
        token = parse_token(KIND, text)
        found = None if token is None else self._find_row(token)
        return found if found is not None and self.is_good(found) else None

    def is_good(self, row: AccessKeyRow) -> bool:
        """Whether the key is neither revoked nor at its end."""
        return row.revoked is None and (row.until is None or self.clock() < row.until)

    def mark_used(self, row: AccessKeyRow) -> None:
        """Note that it is in use, ten minutes apart at least; of several at once one does."""
        now = self.clock()
        if row.last_used is None or now - row.last_used >= USED_EVERY:
            was = {"last_used": row.last_used}
            self.records.change(AccessKeyRow, [row.name], {"last_used": now}, where=was)

    def _find_row(self, token: Secret) -> AccessKeyRow | None:
        where = {"prefix": token.prefix}
        rows = list(self.records.find(AccessKeyRow, where, count_max=PREFIX_KEYS_MAX))
        return next((row for row in rows if token.is_known_by(row.sha256hex)), None)


def build_viewer(row: AccessKeyRow) -> Viewer:
    """Whoever holds this key."""
    return Viewer(row.name, Role(row.role))
