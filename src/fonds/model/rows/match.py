"""Rows about which works papers are, and which works they cite."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class MatchRow:
    """`matches`: which work of the catalogue a paper is; the evidence is in the table, `match0:minfo`.

    `status` and `reason` are words of closed lists (docs/matching.md). `work` is the id of the work in
    the catalogue and `doi` its DOI, both where the status is exact or strong.
    `evidence` is the best candidate and how far it agrees, for people.
    """

    TABLE: ClassVar[str] = "matches"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    WITHOUT_FIXITY: ClassVar[tuple[str, ...]] = ()
    sha1hex: str
    updated: dt.datetime
    status: str
    reason: str
    work: str | None
    doi: str | None
    evidence: str | None
    reference_count: int
    extractor: str


@dataclass(frozen=True, slots=True)
class CitationRow:
    """`citations`: who cites whom. The file `sha1hex` has the reference `number` (from 0) in its list.

    `reference` is it as printed, `told_doi` the DOI it states itself; `work` and `doi` are those of the work
    it was matched with, `status`, `reason` and `score` how surely.
    """

    TABLE: ClassVar[str] = "citations"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex", "number")
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    sha1hex: str
    number: int
    updated: dt.datetime
    reference: str
    status: str
    reason: str
    work: str | None
    doi: str | None
    told_doi: str | None
    score: float | None
