"""Rows about PDFs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class PdfMetaRow:
    """`pdf_meta`: the DDL of seed 003, plus `extractor` and `error_msg`."""

    TABLE: ClassVar[str] = "pdf_meta"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    WITHOUT_FIXITY: ClassVar[tuple[str, ...]] = ("has_page0_thumbnail",)
    sha1hex: str
    updated: dt.datetime
    status: str
    has_page0_thumbnail: bool
    page_count: int | None
    word_count: int | None
    page0_height: float | None
    page0_width: float | None
    permanent_id: str | None
    pdf_created: dt.datetime | None
    pdf_version: str | None
    metadata: Mapping[str, Any] | None
    extractor: str
    error_msg: str | None


@dataclass(frozen=True, slots=True)
class StoppedRow:
    """`stopped`: a PDF that cost an isolated reader its life, by the extractor that met it.

    It is not tried again with that extractor before `expires`; `status` is that of the PDF then.
    """

    TABLE: ClassVar[str] = "stopped"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex", "extractor")
    sha1hex: str
    extractor: str
    status: str
    detail: str
    stopped: dt.datetime
    expires: dt.datetime
