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
class CrashedPdfRow:
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


# Rows about which works papers are, and which works they cite.


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


# Rows about news pages, and those by which pages are found that say nearly the same.


@dataclass(frozen=True, slots=True)
class StoryMetaRow:
    """`story_meta`: one page, a version of its story; `story` holds the sub-objects without body and text.

    `captured` is the 14-digit time of the capture that owns the file: of several versions of a story the
    last one captured is in the index.
    """

    TABLE: ClassVar[str] = "story_meta"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    WITHOUT_FIXITY: ClassVar[tuple[str, ...]] = ()
    sha1hex: str
    story_id: str
    captured: str
    updated: dt.datetime
    status: str
    url: str
    canonical_domain: str
    publication_date: str | None
    language: str | None
    article_title: str | None
    word_count: int
    story: Mapping[str, Any]
    extractor: str


@dataclass(frozen=True, slots=True)
class TextSketchRow:
    """`text_sketch`: what is kept of a text to tell it from others, and a story's versions apart.

    `text_sha256hex` is the hash of the text as it lies in the blobs. `signature` are its MinHash values in
    hex (`text/similarity.py`), "" where `status` is `too-short`. `url`, `story_id` and `captured`
    are those of the story's row; of a PDF or an article those of its capture, and its SHA-1 for `story_id`.
    """

    TABLE: ClassVar[str] = "text_sketch"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    WITHOUT_FIXITY: ClassVar[tuple[str, ...]] = ()
    sha1hex: str
    story_id: str
    captured: str
    updated: dt.datetime
    status: str
    url: str
    text_sha256hex: str
    signature: str
    extractor: str


@dataclass(frozen=True, slots=True)
class TextBandRow:
    """`text_band`: a text has this band; texts that are alike share one or more of theirs."""

    TABLE: ClassVar[str] = "text_band"
    KEY: ClassVar[tuple[str, ...]] = ("band", "sha1hex")
    band: int
    sha1hex: str
