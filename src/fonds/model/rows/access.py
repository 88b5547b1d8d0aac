"""Rows of who may do what, and of who did it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class AccessKeyRow:
    """`access_keys`: a key of the pages and the service; of its secret only what it is known by.

    `name` is never given out again. `prefix` begins the secret and is no secret itself; `sha256hex` is of
    the whole secret. `role` is one of `model/access.py`. Not taken from `until` on, None: no end.
    `last_used` is behind the truth by ten minutes at most. A revoked key stays, with when, by whom and why.
    """

    TABLE: ClassVar[str] = "access_keys"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    role: str
    prefix: str
    sha256hex: str
    made_by: str
    row_created: dt.datetime
    until: dt.datetime | None = None
    last_used: dt.datetime | None = None
    revoked: dt.datetime | None = None
    revoked_by: str | None = None
    revoked_reason: str | None = None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """`sessions`: a browser that showed a key, until it signs out or `until`; gone with its key.

    `session_id` and a secret make the cookie; `sha256hex` is of the whole cookie.
    """

    TABLE: ClassVar[str] = "sessions"
    KEY: ClassVar[tuple[str, ...]] = ("session_id",)
    session_id: str
    sha256hex: str
    key_name: str
    row_created: dt.datetime
    until: dt.datetime


@dataclass(frozen=True, slots=True)
class ActRow:
    """`acts`: what somebody changed, or was about to when `outcome` is None.

    `who` names a key, or after `local:` who was logged in at this machine; empty: whoever reached the pages
    where nobody made a key. `what` is a method and address without its query, or a command; `outcome` is the
    HTTP status, of a command 200 where it was done and 400 where it was refused.
    """

    TABLE: ClassVar[str] = "acts"
    KEY: ClassVar[tuple[str, ...]] = ("act_id",)
    act_id: str
    at: dt.datetime
    who: str
    what: str
    outcome: int | None = None
