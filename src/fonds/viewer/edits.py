"""Find stories that were edited after capture, newest edit first, by comparing consecutive
versions.

Versions of all stories, or of one site, are read backwards in time, in windows. A window ends after
1,000 versions, or after 30 versions that have an earlier version. An edit shows at most 12 changes
of the headline and 12 of the text, with up to 400 characters each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

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
    """Kind of difference between two versions of a story.

    - `edited`: headline or text differ.
    - `same-text`: headline and text are equal, apart from blanks.
    - `other-extractor`: different extractors read the versions, so a difference may not be an edit.
    - `unknown`: a stored text is missing.
    """

    EDITED = "edited"
    SAME_TEXT = "same-text"
    OTHER_EXTRACTOR = "other-extractor"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LaterVersion:
    """Version of a story, compared with the version captured before.

    - `row`, `previous`: metadata rows of the version and of the version captured before.
    - `change`: kind of difference.
    - `headline`, `text`: differences of headline and text; None if equal or not compared.
    - `is_text_same`: whether the texts were compared and are equal.
    """

    row: StoryMetaRow
    previous: StoryMetaRow
    change: EditKind
    headline: WordDiff | None = None
    text: WordDiff | None = None
    is_text_same: bool = False


@dataclass(frozen=True, slots=True)
class VersionWindow:
    """Part of the story versions in the library, from the newest capture back in time.

    - `later`: versions in this part of which the library has an earlier version, newest first.
    - `walked`: number of versions read.
    - `last`: position to pass as `after` to the next call of `load_window`; None at the end.
    """

    later: Sequence[LaterVersion]
    walked: int
    last: Mapping[str, object] | None


def load_window(stores: Stores, site: str, after: Mapping[str, object] | None) -> VersionWindow:
    """Load the window of versions that follows the position `after`; None starts at the newest
    version.

    `site` restricts the versions to one site; "" selects all sites.
    """
    later: list[LaterVersion] = []
    walked_count = 0
    for walked_count, (row, previous) in enumerate(_iter_versions(stores.records, site, after), 1):
        if previous is not None:
            later.append(_compare_versions(stores, row, previous))
        if len(later) == LATER_MAX or walked_count == WALKED_MAX:
            return VersionWindow(
                later, walked_count, {"captured": row.captured, "sha1hex": row.sha1hex}
            )
    return VersionWindow(later, walked_count, None)


def _iter_versions(
    records: Records, site: str, after: Mapping[str, object] | None
) -> Iterator[tuple[StoryMetaRow, StoryMetaRow | None]]:
    """Yield up to 1,000 story versions, newest first, each with the previous version of its story.

    The first version of a story has None as its previous version.

    - `site`: site of the stories; "" for all.
    - `after`: position to continue from; None starts at the newest version.
    """
    conditions = {"canonical_domain": site} if site else {}
    for _ in range(WALKED_MAX // _CHUNK):
        rows = list(
            records.find(StoryMetaRow, conditions, order=_ORDER, after=after, count_max=_CHUNK)
        )
        versioned_stories = _find_versioned_stories(records, rows)
        for row in rows:
            yield row, _find_previous(records, row) if row.story_id in versioned_stories else None
        if len(rows) < _CHUNK:
            return
        after = {"captured": rows[-1].captured, "sha1hex": rows[-1].sha1hex}


def _find_versioned_stories(records: Records, rows: Sequence[StoryMetaRow]) -> set[str]:
    """Return the ids of the stories of these version rows that have more than one version."""
    if not rows:
        return set()
    conditions = {"story_id": sorted({row.story_id for row in rows})}
    counts = records.count(StoryMetaRow, ("story_id",), conditions)
    return {story_id for (story_id,), count in counts.items() if count > 1}


def _find_previous(records: Records, row: StoryMetaRow) -> StoryMetaRow | None:
    position = {"captured": row.captured, "sha1hex": row.sha1hex}
    conditions = {"story_id": row.story_id}
    return next(
        records.find(StoryMetaRow, conditions, order=_ORDER, after=position, count_max=1), None
    )


def _compare_versions(stores: Stores, row: StoryMetaRow, previous: StoryMetaRow) -> LaterVersion:
    hashes = load_text_hashes(stores.records, [previous.sha1hex, row.sha1hex])
    headlines = [" ".join((version.article_title or "").split()) for version in (previous, row)]
    is_known = len(hashes) == 2
    has_other_text = is_known and hashes[previous.sha1hex] != hashes[row.sha1hex]
    if headlines[0] == headlines[1] and not has_other_text:
        return LaterVersion(row, previous, EditKind.SAME_TEXT if is_known else EditKind.UNKNOWN)
    if row.extractor != previous.extractor:
        return LaterVersion(row, previous, EditKind.OTHER_EXTRACTOR)
    headline = diff_words(*headlines) if headlines[0] != headlines[1] else None
    if not has_other_text:
        return LaterVersion(row, previous, EditKind.EDITED, headline, is_text_same=is_known)
    blobs = [stores.blobs.get(build_text_blob_key(version.sha1hex)) for version in (previous, row)]
    if None in blobs:
        return LaterVersion(
            row, previous, EditKind.EDITED if headline else EditKind.UNKNOWN, headline
        )
    text = diff_words(decode_blob_text(blobs[0]), decode_blob_text(blobs[1]))
    # Only blanks and line breaks differ.
    if headline is None and not text.added and not text.removed:
        return LaterVersion(row, previous, EditKind.SAME_TEXT)
    return LaterVersion(row, previous, EditKind.EDITED, headline, text)


# Presentation of an edit


STRETCHES_MAX, STRETCH_MAX_CHARS = 12, 400


@dataclass(frozen=True, slots=True)
class Edit:
    """Version of a story compared with the version before, as pages and the API show it."""

    sha1hex: Annotated[str, Meta(description="SHA-1 of the version")]
    since: Annotated[str, Meta(description="SHA-1 of the version captured before")]
    story_id: Annotated[str, Meta(description="id of the story")]
    url: Annotated[str, Meta(description="URL of the story")]
    site: Annotated[str, Meta(description="site of the story; empty for none")]
    title: Annotated[str | None, Meta(description="headline of the version")]
    title_before: Annotated[str | None, Meta(description="headline of the version before")]
    language: Annotated[str | None, Meta(description="language code of two letters")]
    captured: Annotated[str, Meta(description="time of the capture, 14 digits")]
    since_captured: Annotated[str, Meta(description="time of the capture before, 14 digits")]
    extractor: Annotated[str, Meta(description="extractor of the version")]
    since_extractor: Annotated[str, Meta(description="extractor of the version before")]
    change: Annotated[EditKind, Meta(description="edited, same-text, other-extractor or unknown")]
    is_headline_changed: Annotated[bool, Meta(description="whether the headline was changed")]
    words_added: Annotated[
        int | None,
        Meta(description="number of words added to the text; null if the texts were not compared"),
    ]
    words_removed: Annotated[
        int | None,
        Meta(
            description="number of words removed from the text; null if the texts were not compared"
        ),
    ]
    is_coarse: Annotated[
        bool,
        Meta(
            description="whether passages were counted as fully replaced, or only the first 20,000 "
            "words were compared"
        ),
    ]
    headline: Annotated[Sequence[DiffSpan], Meta(description="changes of the headline")]
    text: Annotated[
        Sequence[DiffSpan], Meta(description="first changes of the text, with some context")
    ]
    href: Annotated[str, Meta(description="URL path of the page that shows all changes")]

    @property
    def summary(self) -> str:
        """Size of the edit for people, such as `+12 −3 words, headline changed`.

        The summary is "" if the words were not compared and the headline is the same.
        """
        parts = []
        if self.words_added is not None:
            parts.append(f"+{self.words_added:,} −{self.words_removed:,} words")
        if self.is_headline_changed:
            parts.append("headline changed")
        return ", ".join(parts)


def build_edit(version: LaterVersion) -> Edit:
    """Describe a compared story version as the edit that pages, API and command line show."""
    row, previous = version.row, version.previous
    is_compared = version.change is EditKind.EDITED and (
        version.text is not None or version.is_text_same
    )
    return Edit(
        sha1hex=row.sha1hex,
        since=previous.sha1hex,
        story_id=row.story_id,
        url=row.url,
        site=row.canonical_domain,
        title=row.article_title,
        title_before=previous.article_title,
        language=row.language,
        captured=row.captured,
        since_captured=previous.captured,
        extractor=row.extractor,
        since_extractor=previous.extractor,
        change=version.change,
        is_headline_changed=version.headline is not None,
        words_added=(version.text.added if version.text else 0) if is_compared else None,
        words_removed=(version.text.removed if version.text else 0) if is_compared else None,
        is_coarse=version.text is not None and (version.text.is_coarse or version.text.is_cut),
        headline=_list_first_changes(version.headline),
        text=_list_first_changes(version.text),
        href=f"/file/{row.sha1hex}/changes?since={previous.sha1hex}",
    )


def _list_first_changes(diff: WordDiff | None) -> list[DiffSpan]:
    spans = trim_unchanged(diff)[:STRETCHES_MAX] if diff else []
    return [replace(span, text=_shorten(span.text)) for span in spans]


def _shorten(text: str) -> str:
    return text if len(text) <= STRETCH_MAX_CHARS else text[: STRETCH_MAX_CHARS - 1].rstrip() + "…"
