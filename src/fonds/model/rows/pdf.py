"""Rows about PDFs, and about what papers say of themselves and cite."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class PdfMetaRow:
    """`pdf_meta`: the DDL of seed 003, plus `extractor` and `error_msg`.

    `extractor` is empty in rows of other programs. `word_count` is 0 for pages without words, None when no
    page was read.
    """

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


@dataclass(frozen=True, slots=True)
class BibliographyRow:
    """`bibliography`: what was read of a paper without a server; the whole of it is in the table, `bib0`.

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


@dataclass(frozen=True, slots=True)
class GrobidRow:
    """`grobid`: how GROBID's reading of a PDF ended; the table of this name others have, plus `quality`,
    `extractor` and `error_msg`.

    `metadata` holds `biblio` (title, authors, journal, date, identifiers), `reference_count`,
    `grobid_timestamp` and `language_code`. `fatcat_release` is what older results may say.
    """

    TABLE: ClassVar[str] = "grobid"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    WITHOUT_FIXITY: ClassVar[tuple[str, ...]] = ()
    sha1hex: str
    updated: dt.datetime
    grobid_version: str | None
    status_code: int
    status: str
    fatcat_release: str | None
    metadata: Mapping[str, Any] | None
    quality: str | None
    extractor: str
    error_msg: str | None


@dataclass(frozen=True, slots=True)
class JatsRow:
    """`jats`: what one article in JATS or NLM XML says of itself; its text lies in the blobs.

    `metadata` is as in `grobid`; `published` as exact as told, `error_msg` why it could not be read.
    """

    TABLE: ClassVar[str] = "jats"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    WITHOUT_FIXITY: ClassVar[tuple[str, ...]] = ()
    sha1hex: str
    updated: dt.datetime
    status: str
    quality: str | None
    title: str | None
    doi: str | None
    published: str | None
    language: str | None
    word_count: int | None
    reference_count: int
    metadata: Mapping[str, Any] | None
    error_msg: str | None
    extractor: str
