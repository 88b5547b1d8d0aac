"""Stories edited after they were captured: versions held against the one captured before, the newest first.

They are found by walking the versions of all stories, or of one site, backwards in time, a window at a time.
Bound of a window: 1,000 versions walked, or the 30 first that have one before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fonds.derivatives.documents import decode_blob_text
from fonds.derivatives.sketch import load_text_hashes
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import StoryMetaRow
from fonds.ports import Records, Stores
from fonds.viewer.word_diff import DiffSpan, WordDiff, diff_words, trim_unchanged

WALKED_MAX = 1_000
LATER_MAX = 30
_CHUNK = 100
_ORDER = ("-captured", "-sha1hex")


class EditKind(StrEnum):
    """What became of headline and text between two versions. Of `other-extractor` it is not known whether
    what differs is the page's or the program's; of `unknown` what is kept of a text is missing."""

    EDITED = "edited"
    SAME_TEXT = "same-text"
    OTHER_EXTRACTOR = "other-extractor"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LaterVersion:
    """A version of a story and the one captured `previous` it; `headline` and `text` say how they differ,
    None where they do not, and where they are not compared. `is_text_same` tells these two of a text
    apart."""

    row: StoryMetaRow
    previous: StoryMetaRow
    change: EditKind
    headline: WordDiff | None = None
    text: WordDiff | None = None
    is_text_same: bool = False


@dataclass(frozen=True, slots=True)
class VersionWindow:
    """The later versions of a part of the walk, the one captured last first; `walked` counts all versions
    it went by. `last` is where the walk stopped, as `Records.find` takes it for `after`; None at its end."""

    later: Sequence[LaterVersion]
    walked: int
    last: Mapping[str, object] | None


def load_window(stores: Stores, site: str, after: Mapping[str, object] | None) -> VersionWindow:
    """The window that begins behind `after`; of one site unless `site` is empty."""
    later: list[LaterVersion] = []
    walked = 0
    for walked, (row, before) in enumerate(_iter_versions(stores.records, site, after), 1):
        if before is not None:
            later.append(_compare_versions(stores, row, before))
        if len(later) == LATER_MAX or walked == WALKED_MAX:
            return VersionWindow(later, walked, {"captured": row.captured, "sha1hex": row.sha1hex})
    return VersionWindow(later, walked, None)


def _iter_versions(
    records: Records, site: str, after: Mapping[str, object] | None
) -> Iterator[tuple[StoryMetaRow, StoryMetaRow | None]]:
    """At most `WALKED_MAX` versions, each with the one of its story before it."""
    where = {"canonical_domain": site} if site else {}
    for _ in range(WALKED_MAX // _CHUNK):
        rows = list(records.find(StoryMetaRow, where, order=_ORDER, after=after, count_max=_CHUNK))
        several = _find_versioned_stories(records, rows)
        for row in rows:
            yield row, _find_previous(records, row) if row.story_id in several else None
        if len(rows) < _CHUNK:
            return
        after = {"captured": rows[-1].captured, "sha1hex": rows[-1].sha1hex}


def _find_versioned_stories(records: Records, rows: Sequence[StoryMetaRow]) -> set[str]:
    """The stories of these versions that have another one."""
    if not rows:
        return set()
    where = {"story_id": sorted({row.story_id for row in rows})}
    found = records.count(StoryMetaRow, ("story_id",), where)
    return {story_id for (story_id,), count in found.items() if count > 1}


def _find_previous(records: Records, row: StoryMetaRow) -> StoryMetaRow | None:
    behind = {"captured": row.captured, "sha1hex": row.sha1hex}
    where = {"story_id": row.story_id}
    return next(records.find(StoryMetaRow, where, order=_ORDER, after=behind, count_max=1), None)


def _compare_versions(stores: Stores, row: StoryMetaRow, previous: StoryMetaRow) -> LaterVersion:
    hashes = load_text_hashes(stores.records, [previous.sha1hex, row.sha1hex])
    headlines = [" ".join((one.article_title or "").split()) for one in (previous, row)]
    is_known = len(hashes) == 2
    has_other_text = is_known and hashes[previous.sha1hex] != hashes[row.sha1hex]
    if headlines[0] == headlines[1] and not has_other_text:
        return LaterVersion(row, previous, EditKind.SAME_TEXT if is_known else EditKind.UNKNOWN)
    if row.extractor != previous.extractor:
        return LaterVersion(row, previous, EditKind.OTHER_EXTRACTOR)
    headline = diff_words(*headlines) if headlines[0] != headlines[1] else None
    if not has_other_text:
        return LaterVersion(row, previous, EditKind.EDITED, headline, is_text_same=is_known)
    blobs = [stores.blobs.get(build_text_blob_key(one.sha1hex)) for one in (previous, row)]
    if None in blobs:
        return LaterVersion(
            row, previous, EditKind.EDITED if headline else EditKind.UNKNOWN, headline
        )
    text = diff_words(decode_blob_text(blobs[0]), decode_blob_text(blobs[1]))
    # Blanks and line ends are no words.
    if headline is None and not text.added and not text.removed:
        return LaterVersion(row, previous, EditKind.SAME_TEXT)
    return LaterVersion(row, previous, EditKind.EDITED, headline, text)


# One edit of a story, as it is shown: which version, since which, and the words that went and came.
#
# Bound: the first 12 stretches of headline and text, of 400 characters each.


STRETCHES_MAX, STRETCH_MAX_CHARS = 12, 400


@dataclass(frozen=True, slots=True)
class Edit:
    """Version `sha1hex` of a story and the one `since`, captured before it; times in 14 digits.

    `words_added` and `words_removed` count the text's alone, None where the text was not compared; with
    `is_coarse` some stretches of it were counted whole, or what is behind its first 20,000 words not at all.
    `headline` and `text` are the words that went and came, some the same around them; of a text the first
    stretches, whole at `href`.
    """

    sha1hex: str
    since: str
    story_id: str
    url: str
    site: str
    title: str | None
    title_before: str | None
    language: str | None
    captured: str
    since_captured: str
    extractor: str
    since_extractor: str
    change: EditKind
    is_headline_changed: bool
    words_added: int | None
    words_removed: int | None
    is_coarse: bool
    headline: Sequence[DiffSpan]
    text: Sequence[DiffSpan]
    href: str

    @property
    def summary(self) -> str:
        """How much was edited, in words."""
        parts = []
        if self.words_added is not None:
            parts.append(f"+{self.words_added:,} −{self.words_removed:,} words")
        if self.is_headline_changed:
            parts.append("headline changed")
        return ", ".join(parts)


def edit(version: LaterVersion) -> Edit:
    """A later version as the pages, the API and the command line show it."""
    row, before = version.row, version.previous
    is_compared = version.change is EditKind.EDITED and (
        version.text is not None or version.is_text_same
    )
    return Edit(
        sha1hex=row.sha1hex,
        since=before.sha1hex,
        story_id=row.story_id,
        url=row.url,
        site=row.canonical_domain,
        title=row.article_title,
        title_before=before.article_title,
        language=row.language,
        captured=row.captured,
        since_captured=before.captured,
        extractor=row.extractor,
        since_extractor=before.extractor,
        change=version.change,
        is_headline_changed=version.headline is not None,
        words_added=(version.text.added if version.text else 0) if is_compared else None,
        words_removed=(version.text.removed if version.text else 0) if is_compared else None,
        is_coarse=version.text is not None and (version.text.is_coarse or version.text.is_cut),
        headline=_list_first_changes(version.headline),
        text=_list_first_changes(version.text),
        href=f"/file/{row.sha1hex}/changes?since={before.sha1hex}",
    )


def _list_first_changes(diff: WordDiff | None) -> list[DiffSpan]:
    shown = trim_unchanged(diff)[:STRETCHES_MAX] if diff else []
    return [replace(one, text=_shorten(one.text)) for one in shown]


def _shorten(text: str) -> str:
    return text if len(text) <= STRETCH_MAX_CHARS else text[: STRETCH_MAX_CHARS - 1].rstrip() + "…"
