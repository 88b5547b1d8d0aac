"""Rows about what PDFs say of themselves and cite, read here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class BibliographyRow:
    """`bibliography`: what was read of a paper without a server; the whole of it is in the table, `grobid0`.

    `metadata` is as in `grobid`; `title`, `doi`, `arxiv_id` and `reference_count` are out
    of it, to be asked for.
    """

    TABLE: ClassVar[str] = "bibliography"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    WITHOUT_FIXITY: ClassVar[tuple[str, ...]] = ()
    sha1hex: str
    updated: dt.datetime
    status: str
    quality: str | None
    title: str | None
    doi: str | None
    arxiv_id: str | None
    reference_count: int
    metadata: Mapping[str, Any] | None
    extractor: str
