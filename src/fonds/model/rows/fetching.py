"""Rows about what was fetched, and how soon a domain may be asked again, and by whom."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class FetchedRow:
    """`fetched`: one link that was answered with a page; `capture_id` is the link's and its capture's.

    `url` is the address that was asked for, `final_url` the one that answered; `mime` is the declared type.
    `in_spool`: its exchange lies there still. `etag` and `last_modified` are what a later request may be made
    conditional by.
    """

    TABLE: ClassVar[str] = "fetched"
    KEY: ClassVar[tuple[str, ...]] = ("capture_id",)
    capture_id: str
    url: str
    final_url: str
    fetched: dt.datetime
    status: int
    mime: str | None
    address: str
    tls: str | None
    tls_check: str
    redirects: int
    in_spool: bool
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class PaceRow:
    """`paces`: how soon a registered domain and its hosts may be asked again, and which process asks them.

    `claimed_by` names the process, None for nobody; its claim ends when `beats`, which each change of its
    counts up, was seen to stand still. `paces` has by host, "" for the domain, when it may be asked next
    (Unix seconds), the slowdown and what else the pace remembers. `wanted_by` names a process that wants to
    poll a source of the domain, since `wanted_at`.
    """

    TABLE: ClassVar[str] = "paces"
    KEY: ClassVar[tuple[str, ...]] = ("domain",)
    domain: str
    claimed_by: str | None
    beats: int
    paces: Mapping[str, Any]
    updated: dt.datetime
    wanted_by: str | None = None
    wanted_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class AddressUseRow:
    """`address_uses`: a process that asks an IP address, as it said last when it was `updated`."""

    TABLE: ClassVar[str] = "address_uses"
    KEY: ClassVar[tuple[str, ...]] = ("address", "used_by")
    address: str
    used_by: str
    updated: dt.datetime
