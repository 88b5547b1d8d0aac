"""Story as its page shows it: byline, date, versions, and the changes between two versions.

Limits: only the 200 latest versions of a story are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fonds.derivatives.documents import decode_blob_text
from fonds.derivatives.story import list_authors
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import StoryMetaRow, TextSketchRow
from fonds.ports import Records, Stores
from fonds.viewer.word_diff import DiffKind, DiffSpan, WordDiff, diff_words

VERSIONS_MAX = 200


class VersionDifference(StrEnum):
    """Kind of difference between a version of a story and the version before it.

    `unknown` means that a stored text is missing.
    """

    SAME_BYTES = "same-bytes"
    SAME_TEXT = "same-text"
    CHANGED_TEXT = "changed-text"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StoryHead:
    """Head of a story, as its page shows it.

    - `story_id`: id of the story.
    - `title`: headline; None if unknown.
    - `byline`: names of the authors as printed on the page; None if unknown.
    - `published`: stated date of publication (ISO 8601); None if unknown.
    - `captured`: time of the capture, 14 digits.
    - `site`: site of the story.
    - `extractor`: extractor that read the story.
    """

    story_id: str
    title: str | None
    byline: str | None
    published: str | None
    captured: str
    site: str
    extractor: str


@dataclass(frozen=True, slots=True)
class StoryVersion:
    """Version of a story.

    - `sha1hex`: SHA-1 of the version.
    - `captured`: time of the capture, 14 digits.
    - `title`: headline; None if unknown.
    - `difference`: difference from the version before; None for the first version shown.
    """

    sha1hex: str
    captured: str
    title: str | None
    difference: VersionDifference | None


@dataclass(frozen=True, slots=True)
class StoryVersions:
    """Versions of a story.

    - `shown`: the latest 200 versions, oldest first.
    - `total`: number of all versions.
    """

    shown: Sequence[StoryVersion]
    total: int


@dataclass(frozen=True, slots=True)
class StoryPart:
    """Difference of one part of a story between two versions.

    - `name`: `title`, `byline`, `published` or `text`.
    - `is_changed`: whether the part differs.
    - `diff`: difference by words.
    """

    name: str
    is_changed: bool
    diff: WordDiff


def load_story_head(records: Records, sha1hex: str) -> StoryHead | None:
    """Load the head of a story; None if the file is not a story."""
    row = next(iter(records.get(StoryMetaRow, [sha1hex])), None)
    return _build_head(row) if row is not None else None


def load_versions(records: Records, story_id: str) -> StoryVersions:
    """Load the latest 200 versions of a story, each with its difference from the version before."""
    conditions = {"story_id": story_id}
    order = ("-captured", "-sha1hex")
    rows = list(records.find(StoryMetaRow, conditions, order=order, count_max=VERSIONS_MAX))[::-1]
    keys = [row.sha1hex for row in rows]
    hashes = {row.sha1hex: row.text_sha256hex for row in records.get(TextSketchRow, keys)}
    versions: list[StoryVersion] = []
    for row in rows:
        difference = (
            _compare_hashes(hashes, versions[-1].sha1hex, row.sha1hex) if versions else None
        )
        versions.append(StoryVersion(row.sha1hex, row.captured, row.article_title, difference))
    return StoryVersions(versions, records.count(StoryMetaRow, (), conditions)[()])


def compare_two_versions(records: Records, previous: str, later_version: str) -> VersionDifference:
    """Return the kind of difference between two versions of a story, given by SHA-1."""
    rows = records.get(TextSketchRow, [previous, later_version])
    return _compare_hashes(
        {row.sha1hex: row.text_sha256hex for row in rows}, previous, later_version
    )


def list_changed_parts(stores: Stores, previous: str, later_version: str) -> list[StoryPart]:
    """Compare title, byline, date and text of two versions of a story, given by SHA-1."""
    texts = [_load_parts(stores, sha1hex) for sha1hex in (previous, later_version)]
    return [
        StoryPart(
            name, texts[0][name] != texts[1][name], diff_words(texts[0][name], texts[1][name])
        )
        for name in texts[0]
    ]


def _load_parts(stores: Stores, sha1hex: str) -> dict[str, str]:
    head = load_story_head(stores.records, sha1hex)
    blob = stores.blobs.get(build_text_blob_key(sha1hex))
    return {
        "title": (head.title if head else None) or "",
        "byline": (head.byline if head else None) or "",
        "published": (head.published if head else None) or "",
        "text": decode_blob_text(blob),
    }


def _build_head(row: StoryMetaRow) -> StoryHead:
    return StoryHead(
        story_id=row.story_id,
        title=row.article_title,
        byline=", ".join(list_authors(row)) or None,
        published=row.publication_date,
        captured=row.captured,
        site=row.canonical_domain,
        extractor=row.extractor,
    )


def _compare_hashes(hashes: dict[str, str], previous: str, later_version: str) -> VersionDifference:
    if previous == later_version:
        return VersionDifference.SAME_BYTES
    if previous not in hashes or later_version not in hashes:
        return VersionDifference.UNKNOWN
    return (
        VersionDifference.SAME_TEXT
        if hashes[previous] == hashes[later_version]
        else VersionDifference.CHANGED_TEXT
    )


# Two texts side by side, aligned at paragraph breaks that are in both


GAP = "\n\n"


@dataclass(slots=True)
class AlignedPair:
    """Passages of two texts that are shown side by side, or equal words that are not shown.

    - `before`: passage of the earlier text, without additions.
    - `after`: passage of the later text, without removals.
    - `omitted_words`: number of equal words that this pair stands for; then both passages are
      empty. 0 if the passages are shown.
    """

    before: list[DiffSpan] = field(default_factory=list)
    after: list[DiffSpan] = field(default_factory=list)
    omitted_words: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show: both passages are empty and no words are omitted."""
        return not (self.before or self.after or self.omitted_words)


def align_stretches(stretches: Sequence[DiffSpan]) -> list[AlignedPair]:
    """Split a difference of two texts into pairs of passages to show side by side.

    Each pair ends at a paragraph break that is in both texts.
    """
    pairs = [AlignedPair()]
    for span in stretches:
        if span.kind is DiffKind.LEFT_OUT:
            pairs += [AlignedPair(omitted_words=span.words), AlignedPair()]
        elif span.kind is DiffKind.ADDED:
            pairs[-1].after.append(span)
        elif span.kind is DiffKind.REMOVED:
            pairs[-1].before.append(span)
        else:
            _add_same(pairs, span)
    return [pair for pair in pairs if not pair.is_empty]


def _add_same(pairs: list[AlignedPair], span: DiffSpan) -> None:
    for number, text in enumerate(span.text.split(GAP)):
        if number:
            pairs.append(AlignedPair())
        if text:
            part = DiffSpan(DiffKind.SAME, text, len(text.split()))
            pairs[-1].before.append(part)
            pairs[-1].after.append(part)
