"""Rows of what proves the rest: fixity, what the deep audit found, and how far it got."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FixityRow:
    """`fixity`: size and SHA-256 of one part of what was made of a file, as they were when it was written.

    `part` is a table, for the file's row in it, or what `kinds/fixity.py` calls a blob of the file. Written
    in one transaction with the row.
    """

    TABLE: ClassVar[str] = "fixity"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex", "part")
    sha1hex: str
    part: str
    size_bytes: int
    sha256hex: str


@dataclass(frozen=True, slots=True)
class FaultRow:
    """`faults`: what the deep audit found of a file and did not find mended since.

    `check` is the word for it (`library/checks/fault.py`), `told` the sentence.
    """

    TABLE: ClassVar[str] = "faults"
    KEY: ClassVar[tuple[str, ...]] = ("subject", "told")
    subject: str
    told: str
    check: str
    found_at: dt.datetime


@dataclass(frozen=True, slots=True)
class DeepAuditRow:
    """`deep_audits`: how far a round of the deep audit got through the files, which it reads by SHA-1.

    `last_key` is the last file it was through with, '' before the first; `checked` and `found` count files
    and faults of this round. A round that is finished is followed by the next.
    """

    TABLE: ClassVar[str] = "deep_audits"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    last_key: str
    checked: int
    found: int
    started: dt.datetime
    updated: dt.datetime
    finished: bool
