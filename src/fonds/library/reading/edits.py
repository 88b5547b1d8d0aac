"""Stories edited after they were captured: versions held against the one captured before, the newest first.

They are found by walking the versions of all stories, or of one site, backwards in time, a window at a time.
Bound of a window: 1,000 versions walked, or the 30 first that have one before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fonds.kinds.documents import text_of
from fonds.kinds.similarity.sketch import text_hashes
from fonds.library.reading.word_diff import WordDiff, word_diff
from fonds.model.keys import text_blob_key
from fonds.model.rows import StoryMetaRow
from fonds.ports import Records, Stores

WALKED_MAX = 1_000
LATER_MAX = 30
_CHUNK = 100
_ORDER = ("-captured", "-sha1hex")


class Change(StrEnum):
    """What became of headline and text between two versions. Of `other-extractor` it is not known whether
    what differs is the page's or the program's; of `unknown` what is kept of a text is missing."""

    EDITED = "edited"
    SAME_TEXT = "same-text"
    OTHER_EXTRACTOR = "other-extractor"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Later:
    """A version of a story and the one captured `before` it; `headline` and `text` say how they differ, None
    where they do not, and where they are not compared. `is_text_same` tells these two of a text apart."""

    row: StoryMetaRow
    before: StoryMetaRow
    change: Change
    headline: WordDiff | None = None
    text: WordDiff | None = None
    is_text_same: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """The later versions of a part of the walk, the one captured last first; `walked` counts all versions
    it went by. `last` is where the walk stopped, as `Records.find` takes it for `after`; None at its end."""

    later: Sequence[Later]
    walked: int
    last: Mapping[str, object] | None


def window(stores: Stores, site: str, after: Mapping[str, object] | None) -> Window:
    """The window that begins behind `after`; of one site unless `site` is empty."""
    later: list[Later] = []
    walked = 0
    for walked, (row, before) in enumerate(_walk(stores.records, site, after), 1):
        if before is not None:
            later.append(_compared(stores, row, before))
        if len(later) == LATER_MAX or walked == WALKED_MAX:
            return Window(later, walked, {"captured": row.captured, "sha1hex": row.sha1hex})
    return Window(later, walked, None)


def _walk(
    records: Records, site: str, after: Mapping[str, object] | None
) -> Iterator[tuple[StoryMetaRow, StoryMetaRow | None]]:
    """At most `WALKED_MAX` versions, each with the one of its story before it."""
    where = {"canonical_domain": site} if site else {}
    for _ in range(WALKED_MAX // _CHUNK):
        rows = list(records.find(StoryMetaRow, where, order=_ORDER, after=after, count_max=_CHUNK))
        several = _of_several(records, rows)
        for row in rows:
            yield row, _before(records, row) if row.story_id in several else None
        if len(rows) < _CHUNK:
            return
        after = {"captured": rows[-1].captured, "sha1hex": rows[-1].sha1hex}


def _of_several(records: Records, rows: Sequence[StoryMetaRow]) -> set[str]:
    """The stories of these versions that have another one."""
    if not rows:
        return set()
    where = {"story_id": sorted({row.story_id for row in rows})}
    found = records.count(StoryMetaRow, ("story_id",), where)
    return {story_id for (story_id,), count in found.items() if count > 1}


def _before(records: Records, row: StoryMetaRow) -> StoryMetaRow | None:
    behind = {"captured": row.captured, "sha1hex": row.sha1hex}
    where = {"story_id": row.story_id}
    return next(records.find(StoryMetaRow, where, order=_ORDER, after=behind, count_max=1), None)


def _compared(stores: Stores, row: StoryMetaRow, before: StoryMetaRow) -> Later:
    hashes = text_hashes(stores.records, [before.sha1hex, row.sha1hex])
    headlines = [" ".join((one.article_title or "").split()) for one in (before, row)]
    is_known = len(hashes) == 2
    has_other_text = is_known and hashes[before.sha1hex] != hashes[row.sha1hex]
    if headlines[0] == headlines[1] and not has_other_text:
        return Later(row, before, Change.SAME_TEXT if is_known else Change.UNKNOWN)
    if row.extractor != before.extractor:
        return Later(row, before, Change.OTHER_EXTRACTOR)
    headline = word_diff(*headlines) if headlines[0] != headlines[1] else None
    if not has_other_text:
        return Later(row, before, Change.EDITED, headline, is_text_same=is_known)
    blobs = [stores.blobs.get(text_blob_key(one.sha1hex)) for one in (before, row)]
    if None in blobs:
        return Later(row, before, Change.EDITED if headline else Change.UNKNOWN, headline)
    text = word_diff(text_of(blobs[0]), text_of(blobs[1]))
    # Blanks and line ends are no words.
    if headline is None and not text.added and not text.removed:
        return Later(row, before, Change.SAME_TEXT)
    return Later(row, before, Change.EDITED, headline, text)
