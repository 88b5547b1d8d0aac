"""import_story: a story's text into the blobs, its metadata into records, both into the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from email.utils import parsedate_to_datetime

from fonds.formats.documents import story_document, text_bytes
from fonds.formats.envelope import story_to_json
from fonds.model.keys import text_blob_key
from fonds.model.rows import StoryMetaRow
from fonds.model.step import Result
from fonds.model.story import Parsed, Story
from fonds.ports import Blobs, Index, Records

EMITS = ()


@dataclass(frozen=True, slots=True)
class ImportStory:
    """Blobs first, then the row, then the index, so that what the row promises is there."""

    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[Parsed]) -> list[Result]:
        """Idempotent by the SHA-1 of the page."""
        now = self.clock()
        rows = [_row(item, now) for item in items]
        texts = [text_bytes(item.story.content_metadata.text_content or "") for item in items]
        for row, text in zip(rows, texts, strict=True):
            self.blobs.put(text_blob_key(row.sha1hex), text, "text/plain")
        self.records.put(rows)
        self.index.put(
            [
                story_document(row, text, item.capture.collection)
                for item, row, text in zip(items, rows, texts, strict=True)
            ]
        )
        return [Result() for _ in items]


def publication_date(story: Story) -> date | None:
    """The parser's date, else the feed's; None when neither is one.

    The two stay apart in the story itself, so that the archive tells extracted from announced.
    """
    try:
        return date.fromisoformat(story.content_metadata.publication_date or "")
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(story.rss_entry.pub_date or "").date()
    except (ValueError, OverflowError):
        return None


def _row(item: Parsed, now: datetime) -> StoryMetaRow:
    content = item.story.content_metadata
    published = publication_date(item.story)
    without_text = replace(item.story, content_metadata=replace(content, text_content=None))
    return StoryMetaRow(
        sha1hex=item.file.sha1,
        story_id=item.story_id,
        updated=now,
        status="success",
        url=content.url or item.capture.url,
        canonical_domain=content.canonical_domain or "",
        publication_date=published.isoformat() if published else None,
        language=content.language,
        article_title=content.article_title,
        word_count=len((content.text_content or "").split()),
        story=story_to_json(without_text),
        extractor=item.extractor,
    )
