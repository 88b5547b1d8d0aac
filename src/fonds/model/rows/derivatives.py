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
    """Row of `pdf_meta`: metadata and page counts of one PDF.

    The columns are those of sandcrawler's table `pdf_meta`, plus `extractor` and `error_msg`.

    - `extractor`: version of the program that read the PDF; empty in rows of other programs.
    - `word_count`: 0 if the pages have no words; None if no page was read.
    - `error_msg`: why the PDF could not be read; None if it was read.
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

    The PDF is not read again with this extractor before `expires`.

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
    """Row of `bibliography`: bibliographic data that Fonds read from a paper itself, without a
    server such as GROBID.

    The complete result is in the journal table, in the column family `bib0`.

    - `title`, `doi`, `arxiv_id`, `reference_count`: copies from `metadata`, so that queries can
      filter by them.
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
    """Row of `grobid`: result of the server GROBID for one PDF.

    The columns are those of sandcrawler's table `grobid`, plus `quality`, `extractor` and
    `error_msg`.

    - `fatcat_release`: release in the catalogue Fatcat. Only older results of other programs have
      it.
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
    """Row of `jats`: metadata of one article in JATS or NLM XML. Its text is a blob.

    - `published`: publication date, as precise as the article states it: year, month or day.
    - `error_msg`: why the article could not be read; None if it was read.
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
    """Row of `matches`: the work in the catalogue that is the same paper as one file.

    The evidence is in the journal table, in the column `match0:minfo`.

    - `status`, `reason`: values of closed lists (docs/matching.md).
    - `work`, `doi`: id and DOI of the work in the catalogue. Both are set if `status` is `exact` or
      `strong`.
    - `evidence`: text for people: the best candidate, and how well it agrees.
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
    """Row of `citations`: an entry in the reference list of a paper, and the work it was matched
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
    """Row of `story_meta`: one page of news, which is one version of a story.

    - `story`: extracted metadata of the story, without body and text.
    - `captured`: time of the primary capture of the file, 14 digits. The index contains the version
      of a story that was captured last.
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
    """Row of `text_sketch`: sketch of one text, used to compare texts and to distinguish versions
    of a story.

    - `text_sha256hex`: SHA-256 of the text blob, in hex.
    - `signature`: MinHash values in hex (`text/similarity.py`); "" if `status` is `too-short`.
    - `url`, `captured`: URL and time of the story's row; for a PDF or an article, those of its
      capture.
    - `story_id`: id of the story; for a PDF or an article, its SHA-1.
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
    """Row of `text_band`: a band of a file's text, which is several MinHash values of the text as
    one key.

    Similar texts very likely share at least one band.
    """

    TABLE: ClassVar[str] = "text_band"
    KEY: ClassVar[tuple[str, ...]] = ("band", "sha1hex")
    band: int
    sha1hex: str
