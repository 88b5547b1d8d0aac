"""Sessions: a browser shows its key once, and a cookie from then on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.access.keys import AccessKeys, create_token, parse_token
from fonds.model.rows import AccessKeyRow, SessionRow
from fonds.ports import Records

KIND = "session"
ID_CHARACTERS = 16
SESSIONS_PER_KEY_MAX = 50


@dataclass(frozen=True, slots=True)
class SessionStore:
    """The sessions of a home; each lasts `duration` at most, and no longer than its key."""

    records: Records
    keys: AccessKeys
    clock: Callable[[], datetime]
    duration: timedelta

    def begin(self, key: AccessKeyRow) -> str:
        """A new session; its cookie, which is nowhere else. Of one key's sessions the newest fifty last."""
        token, now = create_token(KIND, ID_CHARACTERS), self.clock()
        until = min(now + self.duration, key.until or now + self.duration)
        self._make_room(key.name)
        row = SessionRow(token.prefix, token.sha256hex, key.name, now, until)
        self.records.put([row])
        return token.text

    def authenticate(self, text: str) -> AccessKeyRow | None:
        """The key whose session this cookie is; None for one that nobody began, that ended, or whose key is
        good no more."""
        row = self._find_row(text)
        if row is None or row.until <= self.clock():
            return None
        found = self.records.get(AccessKeyRow, [row.key_name])
        return found[0] if found and self.keys.is_good(found[0]) else None

    def end(self, text: str) -> None:
        """Sign out; nothing where there is no such session."""
        row = self._find_row(text)
        if row is not None:
            self.records.delete(SessionRow, [row.session_id])

    def _find_row(self, text: str) -> SessionRow | None:
        token = parse_token(KIND, text)
        found = [] if token is None else self.records.get(SessionRow, [token.prefix])
        return next((row for row in found if token and token.is_known_by(row.sha256hex)), None)

    def _make_room(self, key_name: str) -> None:
        rows = list(
            self.records.find(SessionRow, {"key_name": key_name}, order=("-until", "session_id"))
        )
        self.records.delete(
            SessionRow, [row.session_id for row in rows[SESSIONS_PER_KEY_MAX - 1 :]]
        )
