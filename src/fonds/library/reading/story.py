"""A story as people read it: who wrote it, of which day it is, its versions, and what changed between two.

Bound: of a story's versions the 200 captured last are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fonds.kinds.documents import text_of
from fonds.kinds.story import authors
from fonds.library.reading.word_diff import WordDiff, word_diff
from fonds.model.keys import text_blob_key
from fonds.model.rows import StoryMetaRow, TextSketchRow
from fonds.ports import Records, Stores

VERSIONS_MAX = 200


class Difference(StrEnum):
    """How a version stands to another; `unknown` where what is kept of a text is missing."""

    SAME_BYTES = "same-bytes"
    SAME_TEXT = "same-text"
    CHANGED_TEXT = "changed-text"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StoryHead:
    """What stands above a story: names as the page has them, the day it says it was published on (ISO 8601),
    the 14 digits of its capture, its site, and the extractor that read it."""

    story_id: str
    title: str | None
    byline: str | None
    published: str | None
    captured: str
    site: str
    extractor: str


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a story; `difference` to the one captured before it, None for the first shown."""

    sha1hex: str
    captured: str
    title: str | None
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions captured last, the oldest of them first; `total` counts all."""

    shown: Sequence[Version]
    total: int


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a story in both versions: `title`, `byline`, `published` or `text`."""

    name: str
    is_changed: bool
    diff: WordDiff


def story_head(records: Records, sha1hex: str) -> StoryHead | None:
    """None for a file that is no story."""
    row = next(iter(records.get(StoryMetaRow, [sha1hex])), None)
    return _head(row) if row is not None else None


def versions_of(records: Records, story_id: str) -> Versions:
    """The versions of a story."""
    where = {"story_id": story_id}
    order = ("-captured", "-sha1hex")
    rows = list(records.find(StoryMetaRow, where, order=order, count_max=VERSIONS_MAX))[::-1]
    keys = [row.sha1hex for row in rows]
    hashes = {row.sha1hex: row.text_sha256hex for row in records.get(TextSketchRow, keys)}
    shown: list[Version] = []
    for row in rows:
        told = _difference(hashes, shown[-1].sha1hex, row.sha1hex) if shown else None
        shown.append(Version(row.sha1hex, row.captured, row.article_title, told))
    return Versions(shown, records.count(StoryMetaRow, (), where)[()])


def difference(records: Records, before: str, after: str) -> Difference:
    """How two versions stand to each other, by their SHA-1s."""
    rows = records.get(TextSketchRow, [before, after])
    return _difference({row.sha1hex: row.text_sha256hex for row in rows}, before, after)


def parts_changed(stores: Stores, before: str, after: str) -> list[Part]:
    """The parts of two versions held against each other."""
    texts = [_parts(stores, sha1hex) for sha1hex in (before, after)]
    return [
        Part(name, texts[0][name] != texts[1][name], word_diff(texts[0][name], texts[1][name]))
        for name in texts[0]
    ]


def _parts(stores: Stores, sha1hex: str) -> dict[str, str]:
    head = story_head(stores.records, sha1hex)
    blob = stores.blobs.get(text_blob_key(sha1hex))
    return {
        "title": (head.title if head else None) or "",
        "byline": (head.byline if head else None) or "",
        "published": (head.published if head else None) or "",
        "text": text_of(blob),
    }


def _head(row: StoryMetaRow) -> StoryHead:
    return StoryHead(
        story_id=row.story_id,
        title=row.article_title,
        byline=", ".join(authors(row)) or None,
        published=row.publication_date,
        captured=row.captured,
        site=row.canonical_domain,
        extractor=row.extractor,
    )


def _difference(hashes: dict[str, str], before: str, after: str) -> Difference:
    if before == after:
        return Difference.SAME_BYTES
    if before not in hashes or after not in hashes:
        return Difference.UNKNOWN
    return Difference.SAME_TEXT if hashes[before] == hashes[after] else Difference.CHANGED_TEXT
