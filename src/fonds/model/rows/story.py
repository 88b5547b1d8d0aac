"""Rows about news pages, and those by which pages are found that say nearly the same."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


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
    hex (`extract/similarity/minhash.py`), "" where `status` is `too-short`. `url`, `story_id` and `captured`
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
