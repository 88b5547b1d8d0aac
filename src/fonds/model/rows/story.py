"""Rows about news pages."""

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
