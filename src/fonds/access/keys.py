"""Access keys: create, list, revoke and authenticate them.

A secret has 256 random bits, so a plain SHA-256 of it is safe to store. A slow hash protects weak
passwords that people choose. Here a slow hash would only make every request slower.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from secrets import choice, token_urlsafe
from typing import Annotated

from msgspec import Meta

from fonds.model.access import Role, Viewer
from fonds.model.rows import AccessKeyRow, SessionRow
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Records

SECRET_BYTES = 32
PREFIX_CHARS = 8
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_TOKEN = re.compile(r"(fonds|session)_([a-z2-7]{8,16})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Secret:
    """Secret text of an access key or of a browser session.

    - `kind`: what the secret is for: an access key or a session.
    - `prefix`: public first part, which is stored and shown.
    - `text`: the complete secret, which the user or the browser sends.
    """

    kind: str
    prefix: str
    text: str = field(repr=False)

    @property
    def sha256hex(self) -> str:
        """SHA-256 of the complete secret, in hex. Fonds stores this hash and never the secret."""
        return sha256(self.text.encode()).hexdigest()

    def is_known_by(self, sha256hex: str) -> bool:
        """Return whether a stored SHA-256 is that of this secret; compares in constant time."""
        return compare_digest(self.sha256hex, sha256hex)


def create_token(kind: str, prefix_chars: int = PREFIX_CHARS) -> Secret:
    """Create a random secret for an access key or session. `kind` is `fonds` for a key, `session`
    for a session.
    """
    prefix = "".join(choice(_ALPHABET) for _ in range(prefix_chars))
    return Secret(kind, prefix, f"{kind}_{prefix}_{token_urlsafe(SECRET_BYTES)}")


def parse_token(kind: str, text: str) -> Secret | None:
    """Parse the text of an access key or of a session cookie.

    `kind` is the expected kind of secret, `fonds` or `session`. Returns None if the text is
    malformed or of another kind.
    """
    match = _TOKEN.fullmatch(text)
    return Secret(kind, match[2], text) if match and match[1] == kind else None


KIND = "fonds"
KEYS_MAX = 1_000
PREFIX_KEYS_MAX = 4
REASON_MAX_CHARS = 500
USED_UPDATE_INTERVAL = timedelta(minutes=10)
"""Minimum time between two updates of an access key's last use."""
NAME_MAX_CHARS = 60
_NAME = re.compile(rf"[a-z0-9][a-z0-9._@-]{{0,{NAME_MAX_CHARS - 1}}}")


@dataclass(frozen=True, slots=True)
class NewKey:
    """New access key and its secret. Only the SHA-256 of the secret is stored."""

    row: AccessKeyRow
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AccessKeySummary:
    """Access key without its secret and the hash of its secret."""

    name: Annotated[str, Meta(description="name of the key")]
    role: Annotated[str, Meta(description="reader, curator or admin")]
    prefix: Annotated[str, Meta(description="the start of its secret after `fonds_`")]
    state: Annotated[str, Meta(description="valid, expired or revoked")]
    made_by: Annotated[
        str, Meta(description="who created it: `local:` and the login name, or a key")
    ]
    row_created: Annotated[datetime, Meta(description="when it was created")]
    until: Annotated[datetime | None, Meta(description="when it expires")]
    last_used: Annotated[datetime | None, Meta(description="last use, at most ten minutes old")]
    revoked: Annotated[datetime | None, Meta(description="when it was revoked")]
    revoked_by: Annotated[str | None, Meta(description="who revoked it")]
    revoked_reason: Annotated[str | None, Meta(description="why it was revoked")]


@dataclass(slots=True)
class AccessKeys:
    """Access keys of a library. Safe for several threads."""

    records: Records
    clock: Callable[[], datetime]
    _has_any: bool = False

    def has_any(self) -> bool:
        """Return whether any access key was ever created, revoked keys included.

        Until the first key exists, access is open to everyone. Revoking the last key does not open
        it again.
        """
        if not self._has_any:
            self._has_any = bool(list(self.records.find(AccessKeyRow, count_max=1)))
        return self._has_any

    def create(self, name: str, role: Role, made_by: str, until: datetime | None = None) -> NewKey:
        """Create an access key, and return it with its secret.

        Raises ValueError for a malformed or used name, an end in the past, or too many keys.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"invalid key name {name[:100]!r}. Use up to {NAME_MAX_CHARS} of a-z, "
                "0-9, ., _, @ and -"
            )
        now = self.clock()
        if until is not None and until <= now:
            raise ValueError("the key's end date is in the past")
        if self.records.count(AccessKeyRow).get((), 0) >= KEYS_MAX:
            raise ValueError(f"the limit of {KEYS_MAX:,} keys is reached")
        token = create_token(KIND)
        row = AccessKeyRow(
            name, role.value, token.prefix, token.sha256hex, made_by, now, until=until
        )
        # The first writer gets the name. The second writer's row is not stored, which the next
        # check detects.
        self.records.put([row], replace=False)
        if [stored_key.sha256hex for stored_key in self.records.get(AccessKeyRow, [name])] != [
            row.sha256hex
        ]:
            raise ValueError(f"the name {name!r} was used before. Choose another name")
        return NewKey(row, token.text)

    def list_all(self) -> list[AccessKeyRow]:
        """Return all access keys in order of name, including revoked keys."""
        return list(self.records.find(AccessKeyRow, order=("name",), count_max=KEYS_MAX))

    def revoke(self, name: str, revoked_by: str, reason: str) -> AccessKeyRow:
        """Revoke an access key and end its browser sessions. A key that was revoked before stays
        unchanged.

        Raises ValueError for an unknown name, suggesting the nearest one, or for a reason that is
        too long.
        """
        if len(reason) > REASON_MAX_CHARS:
            raise ValueError(f"a reason can have at most {REASON_MAX_CHARS} characters")
        if not self.records.get(AccessKeyRow, [name]):
            raise ValueError(
                format_unknown_name("key", name, [key.name for key in self.list_all()])
            )
        changes = {"revoked": self.clock(), "revoked_by": revoked_by, "revoked_reason": reason}
        self.records.change(AccessKeyRow, [name], changes, where={"revoked": None})
        rows = self.records.find(SessionRow, {"key_name": name})
        self.records.delete(SessionRow, [row.session_id for row in rows])
        return self.records.get(AccessKeyRow, [name])[0]

    def authenticate(self, text: str) -> AccessKeyRow | None:
        """Return the access key whose secret is `text`.

        Returns None if no key has this secret, or if the key is revoked or expired.
        """
        token = parse_token(KIND, text)
        row = None if token is None else self._find_row(token)
        return row if row is not None and self.is_good(row) else None

    def is_good(self, row: AccessKeyRow) -> bool:
        """Return whether an access key is neither revoked nor expired."""
        return row.revoked is None and (row.until is None or self.clock() < row.until)

    def summarize(self, row: AccessKeyRow) -> AccessKeySummary:
        """Return the summary of an access key, with its current state (valid, expired or
        revoked).
        """
        state = "valid" if self.is_good(row) else "revoked" if row.revoked else "expired"
        return AccessKeySummary(
            row.name,
            row.role,
            row.prefix,
            state,
            row.made_by,
            row.row_created,
            row.until,
            row.last_used,
            row.revoked,
            row.revoked_by,
            row.revoked_reason,
        )

    def mark_used(self, row: AccessKeyRow) -> None:
        """Record the time at which an access key was used, at most every ten minutes.

        Of several concurrent calls, only one writes.
        """
        now = self.clock()
        if row.last_used is None or now - row.last_used >= USED_UPDATE_INTERVAL:
            expected_values = {"last_used": row.last_used}
            self.records.change(AccessKeyRow, [row.name], {"last_used": now}, where=expected_values)

    def _find_row(self, token: Secret) -> AccessKeyRow | None:
        where = {"prefix": token.prefix}
        rows = list(self.records.find(AccessKeyRow, where, count_max=PREFIX_KEYS_MAX))
        return next((row for row in rows if token.is_known_by(row.sha256hex)), None)


def build_viewer(row: AccessKeyRow) -> Viewer:
    """Return the user of an access key, with the key's name and role."""
    return Viewer(row.name, Role(row.role))
