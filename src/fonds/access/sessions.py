"""Browser sessions: a browser sends an access key once, then a cookie with each request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.access.keys import AccessKeys, create_token, parse_token
from fonds.model.rows import AccessKeyRow, SessionRow
from fonds.ports import Records

KIND = "session"
ID_CHARS = 16
SESSIONS_PER_KEY_MAX = 50


@dataclass(frozen=True, slots=True)
class SessionStore:
    """Browser sessions of one library. A session lasts at most `duration`, and ends when its access
    key is revoked or expires.
    """

    records: Records
    keys: AccessKeys
    clock: Callable[[], datetime]
    duration: timedelta

    def begin(self, key: AccessKeyRow) -> str:
        """Start a browser session for an access key, and return its cookie, which is not stored.

        Each key keeps its newest 50 sessions.
        """
        token, now = create_token(KIND, ID_CHARS), self.clock()
        until = min(now + self.duration, key.until or now + self.duration)
        self._make_room(key.name)
        row = SessionRow(token.prefix, token.sha256hex, key.name, now, until)
        self.records.put([row])
        return token.text

    def authenticate(self, text: str) -> AccessKeyRow | None:
        """Return the access key of the browser session whose cookie is `text`.

        Returns None if the session is unknown or has ended, or if its key is not valid any more.
        """
        row = self._find_row(text)
        if row is None or row.until <= self.clock():
            return None
        keys = self.records.get(AccessKeyRow, [row.key_name])
        return keys[0] if keys and self.keys.is_good(keys[0]) else None

    def end(self, text: str) -> None:
        """End the browser session whose cookie is `text`; an unknown cookie is ignored."""
        row = self._find_row(text)
        if row is not None:
            self.records.delete(SessionRow, [row.session_id])

    def _find_row(self, text: str) -> SessionRow | None:
        token = parse_token(KIND, text)
        rows = [] if token is None else self.records.get(SessionRow, [token.prefix])
        return next((row for row in rows if token and token.is_known_by(row.sha256hex)), None)

    def _make_room(self, key_name: str) -> None:
        rows = list(
            self.records.find(SessionRow, {"key_name": key_name}, order=("-until", "session_id"))
        )
        self.records.delete(
            SessionRow, [row.session_id for row in rows[SESSIONS_PER_KEY_MAX - 1 :]]
        )
