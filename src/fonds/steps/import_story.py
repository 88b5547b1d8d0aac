"""import_story: a story's text into the blobs, its metadata into records, both into the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from email.utils import parsedate_to_datetime

from fonds.formats.envelope import story_to_json
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.keys import text_blob_key
from fonds.model.rows import StoryMetaRow
from fonds.model.step import Result
from fonds.model.story import Parsed, Story
from fonds.ports import Blobs, Index, Records


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
        for item in items:
            text = item.story.content_metadata.text_content or ""
            self.blobs.put(
                text_blob_key(item.file.sha1), text.encode("utf-8", "replace"), "text/plain"
            )
        self.records.put([_row(item, now) for item in items])
        self.index.put([_document(item, now) for item in items])
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
    except ValueError:
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


def _document(item: Parsed, now: datetime) -> IndexDocument:
    content = item.story.content_metadata
    return IndexDocument(
        sha1hex=item.file.sha1,
        kind=Kind.STORY,
        url=content.url or item.capture.url,
        canonical_domain=content.canonical_domain or "",
        publication_date=publication_date(item.story),
        language=content.language,
        article_title=content.article_title,
        text_content=content.text_content or "",
        indexed_date=datetime.fromisoformat(content.parsed_date) if content.parsed_date else now,
        collection=item.capture.collection,
        story_id=item.story_id,
        word_count=len((content.text_content or "").split()),
    )
