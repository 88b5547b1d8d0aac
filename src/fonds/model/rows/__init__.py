"""The rows of the SQL store, one frozen value per table or view, and the page of a listing.

The attribute order is the column order. `TABLE` names the table, `KEY` its primary key. All texts are
without NUL and lone surrogates; all times aware UTC.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


class Row(Protocol):
    """Anything the records store can keep."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class FileMetaRow:
    """`file_meta`: one file, and the capture that brought it first."""

    TABLE: ClassVar[str] = "file_meta"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    sha256hex: str
    md5hex: str
    size_bytes: int
    mimetype: str
    capture_id: str
    row_created: dt.datetime


@dataclass(frozen=True, slots=True)
class CdxRow:
    """`cdx`: one capture whose bytes lie in a WARC, known by that place; `surt_sha1hex` finds long URLs.

    `mimetype` is `warc/revisit` for a record that holds no body. `capture_id` is indexed.
    """

    TABLE: ClassVar[str] = "cdx"
    KEY: ClassVar[tuple[str, ...]] = ("warc_path", "warc_offset")
    capture_id: str
    sha1hex: str
    url: str
    surt: str
    surt_sha1hex: str
    datetime: str
    mimetype: str
    warc_path: str
    warc_csize: int | None
    warc_offset: int
    row_created: dt.datetime


@dataclass(frozen=True, slots=True)
class PdfMetaRow:
    """`pdf_meta`: the DDL of seed 003, plus `extractor` and `error_msg`."""

    TABLE: ClassVar[str] = "pdf_meta"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
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
class StoryMetaRow:
    """`story_meta`: one page; `story` holds the sub-objects without body and text."""

    TABLE: ClassVar[str] = "story_meta"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    story_id: str
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
class InputRow:
    """`inputs`: one WARC, CDX, ZIP or loose file a source reads, and how far it got.

    `fingerprint` is size and modification time: an input is read again when it changes. `position` is
    the source's own mark to go on from. `captures` counts what was emitted, `tally` what was counted
    and not emitted, by reason. `error` says why reading it ended early.
    """

    TABLE: ClassVar[str] = "inputs"
    KEY: ClassVar[tuple[str, ...]] = ("input_id",)
    input_id: str
    path: str
    kind: str
    fingerprint: str
    position: int
    captures: int
    tally: Mapping[str, int]
    finished: bool
    error: str | None
    updated: dt.datetime


@dataclass(frozen=True, slots=True)
class CaptureRow:
    """`captures`: everything that ever entered, written by the source in the same act as its message."""

    TABLE: ClassVar[str] = "captures"
    KEY: ClassVar[tuple[str, ...]] = ("capture_id",)
    capture_id: str
    input_id: str
    url: str
    datetime: str
    place: str
    collection: str
    entered_at: dt.datetime


@dataclass(frozen=True, slots=True)
class DispositionRow:
    """`dispositions`: how one message ended at one step; written again it replaces itself.

    `emitted` lists the `emitted_count` subscriptions that were to receive something of this message,
    so that an audit can name what is missing.
    """

    TABLE: ClassVar[str] = "dispositions"
    KEY: ClassVar[tuple[str, ...]] = ("capture_id", "step")
    capture_id: str
    step: str
    verdict: str
    reason: str | None
    detail: str
    sha1hex: str | None
    emitted: tuple[str, ...]
    emitted_count: int
    attempt: int
    settled_at: dt.datetime


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """View `outcomes`: what became of one capture over all its steps; read-only.

    Quarantined if any step's disposition is; else pending while a step is to try again or has not
    settled what another emitted for it; else dropped if any dropped it; else done.
    `outcome` is `done`, `dropped`, `quarantined` or `pending`; `reason` and `step` belong to the
    disposition that decided it.
    """

    TABLE: ClassVar[str] = "outcomes"
    KEY: ClassVar[tuple[str, ...]] = ("capture_id",)
    capture_id: str
    input_id: str
    url: str
    datetime: str
    place: str
    sha1hex: str | None
    outcome: str
    reason: str | None
    step: str | None
    detail: str | None
    settled_at: dt.datetime | None
