"""One edit of a story, as it is shown: which version, since which, and the words that went and came.

Bound: the first 12 stretches of headline and text, of 400 characters each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fonds.library.reading.edits import Change, Later
from fonds.library.reading.word_diff import Stretch, WordDiff, changes_only

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
    change: Change
    is_headline_changed: bool
    words_added: int | None
    words_removed: int | None
    is_coarse: bool
    headline: Sequence[Stretch]
    text: Sequence[Stretch]
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


def edit(one: Later) -> Edit:
    """A later version as the pages, the API and the command line show it."""
    row, before = one.row, one.before
    is_compared = one.change is Change.EDITED and (one.text is not None or one.is_text_same)
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
        change=one.change,
        is_headline_changed=one.headline is not None,
        words_added=(one.text.added if one.text else 0) if is_compared else None,
        words_removed=(one.text.removed if one.text else 0) if is_compared else None,
        is_coarse=one.text is not None and (one.text.is_coarse or one.text.is_cut),
        headline=_first(one.headline),
        text=_first(one.text),
        href=f"/file/{row.sha1hex}/changes?since={before.sha1hex}",
    )


def _first(diff: WordDiff | None) -> list[Stretch]:
    shown = changes_only(diff)[:STRETCHES_MAX] if diff else []
    return [replace(one, text=_cut(one.text)) for one in shown]


def _cut(text: str) -> str:
    return text if len(text) <= STRETCH_MAX_CHARS else text[: STRETCH_MAX_CHARS - 1].rstrip() + "…"
