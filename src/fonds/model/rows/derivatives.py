"""Rows of data computed from files: PDFs, papers, citations, stories and text sketches."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from fonds.model.bibliography import PaperSummary
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.story import Story


@dataclass(frozen=True, slots=True)
class PdfMetaRow:
    """`pdf_meta`: the DDL of seed 003, plus `extractor` and `error_msg`.

    `extractor` is empty in rows of other programs. `word_count` is 0 for pages without words, None
    if no page was read.
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
    metadata: PdfMetadata | None
    extractor: str
    error_msg: str | None


@dataclass(frozen=True, slots=True)
class CrashedPdfRow:
    """Row of `stopped`: a PDF that crashed an isolated reader, or exceeded a limit, with one
    extractor.

    It is not read again with this extractor before `expires`.

    - `extractor`: program, versions and limits of the reader.
    - `status`: status of the text extraction, as in `PdfStatus`.
    - `detail`: sentence about the crash for people.
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
    """`bibliography`: bibliographic data read from a paper without a server.

    The full result is in the table, `bib0`. `title`, `doi`, `arxiv_id` and `reference_count` are
    copied from `metadata` for queries.
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
    metadata: PaperSummary | None
    extractor: str


@dataclass(frozen=True, slots=True)
class GrobidRow:
    """`grobid`: result of GROBID for a PDF.

    It is the table of this name in other systems, plus `quality`, `extractor` and `error_msg`.
    `fatcat_release` may be set in older results.
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
    metadata: PaperSummary | None
    quality: str | None
    extractor: str
    error_msg: str | None


@dataclass(frozen=True, slots=True)
class JatsRow:
    """`jats`: metadata of an article in JATS or NLM XML; its text is in the blobs.

    `published` is as exact as stated. `error_msg` says why it could not be read.
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
    metadata: PaperSummary | None
    error_msg: str | None
    extractor: str


# Catalogue works that papers and their references were matched with.


@dataclass(frozen=True, slots=True)
class MatchRow:
    """`matches`: the catalogue work that a paper is; the evidence is in the table, `match0:minfo`.

    `status` and `reason` are from closed lists (docs/matching.md). `work` is the id of the work in
    the catalogue and `doi` its DOI, both set if the status is exact or strong.
    `evidence` is the best candidate and how well it agrees, for people.
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
    """Row of `citations`: an entry in the reference list of a file, and the work it was matched
    with.

    A work is a publication in the catalogue.
    """

    TABLE: ClassVar[str] = "citations"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex", "number")
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("status",)
    sha1hex: Annotated[str, Meta(description="SHA-1 of the citing file")]
    number: Annotated[int, Meta(description="number of the reference in its list, from 0")]
    updated: Annotated[dt.datetime, Meta(description="when it was matched")]
    reference: Annotated[str, Meta(description="printed text of the reference")]
    status: Annotated[str, Meta(description="strength of the match")]
    reason: Annotated[str, Meta(description="reason for the status")]
    work: Annotated[str | None, Meta(description="id of the matched work")]
    doi: Annotated[str | None, Meta(description="DOI of the matched work")]
    printed_doi: Annotated[str | None, Meta(description="DOI that the reference states")]
    score: Annotated[float | None, Meta(description="score of the match; higher is better")]


# News pages, and sketches of texts for finding near-duplicates.


@dataclass(frozen=True, slots=True)
class StoryMetaRow:
    """`story_meta`: a page, a version of its story.

    `story` has no body and no text. `captured` is the 14-digit time of the
    file's primary capture. Of several versions of a story the last one captured is in the index.
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
    story: Story
    extractor: str


@dataclass(frozen=True, slots=True)
class TextSketchRow:
    """`text_sketch`: sketch of a text, to compare texts and to distinguish versions of a story.

    - `text_sha256hex`: hash of the text in the blobs.
    - `signature`: MinHash values in hex (`text/similarity.py`), "" if `status` is `too-short`.
    - `url`, `story_id`, `captured`: those of the story's row; for a PDF or an article those of its
      capture, with its SHA-1 as `story_id`.
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
    """Row of `text_band`: a band of a text, which is several of its MinHash values as one key.

    Similar texts very likely share at least one band.
    """

    TABLE: ClassVar[str] = "text_band"
    KEY: ClassVar[tuple[str, ...]] = ("band", "sha1hex")
    band: int
    sha1hex: str
