"""import_story: a story's text into the blobs, its metadata into records, both into the index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from email.utils import parsedate_to_datetime

from fonds.formats.envelope import story_to_json
from fonds.kinds.documents import Origin, put_current, text_blob, text_bytes
from fonds.kinds.fixity import TEXT, fixity_of, fixity_of_row
from fonds.kinds.indexed import CurrentRow, index_documents
from fonds.kinds.rights import remove_stale_rights
from fonds.kinds.similarity.sketch import put_sketches, sketch
from fonds.kinds.stated_rights import stated
from fonds.kinds.story import INDEXED, promised_rights
from fonds.kinds.story_versions import current_versions
from fonds.model.capture import to_datetime14
from fonds.model.document import IndexDocument
from fonds.model.rows import StoryMetaRow
from fonds.model.step import Result
from fonds.model.story import Parsed, Story
from fonds.ports import Blobs, Index, Records

EMITS = ()


@dataclass(frozen=True, slots=True)
class ImportStory:
    """Blobs first, then the row, then the index, so that what the row promises is there.

    The index has each story once, as the version captured last, with the texts of earlier ones.
    """

    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[Parsed]) -> list[Result]:
        """Idempotent by the SHA-1 of the page."""
        now = self.clock()
        rows = [_row(item, now) for item in items]
        texts = [text_bytes(item.story.content_metadata.text_content or "") for item in items]
        named = zip(rows, texts, strict=True)
        self.blobs.put([text_blob(row.sha1hex, text) for row, text in named])
        left = self._leave(rows)
        text_fixity = [
            fixity_of(row.sha1hex, TEXT, text) for row, text in zip(rows, texts, strict=True)
        ]
        sketches = [
            sketch(row, item.story.content_metadata.text_content or "")
            for row, item in zip(rows, items, strict=True)
        ]
        rights = [one for row in rows for one in promised_rights(row)]
        beside = [*map(fixity_of_row, rows), *text_fixity, *rights]
        put_sketches(self.records, sketches, [*rows, *beside])
        remove_stale_rights(self.records, rows, rights)
        known = {
            item.file.sha1: (text, Origin(item.capture.url, "", item.capture.collection))
            for item, text in zip(items, texts, strict=True)
        }
        ids = sorted({*left, *(row.story_id for row in rows)})
        put_current(
            self.records,
            self.index,
            ids,
            lambda: current_versions(self.records, ids),
            lambda some: self._documents(some, known),
        )
        return [Result() for _ in items]

    def _leave(self, rows: Sequence[StoryMetaRow]) -> set[str]:
        """The stories these files were versions of and are no more, because a page that is read again may
        say another address. Their documents change before the rows do: afterwards nobody would know."""
        told = {row.sha1hex: row.story_id for row in rows}
        before = self.records.get(StoryMetaRow, list(told))
        left = {row.story_id for row in before if row.story_id != told[row.sha1hex]}
        if left:
            others = current_versions(self.records, sorted(left), without=told)
            self.index.put(stated(self.records, self._documents(list(others.values()), {})))
            self.index.delete(sorted(left - others.keys()))
        return left

    def _documents(
        self, current: Sequence[CurrentRow], known: Mapping[str, tuple[bytes, Origin]]
    ) -> list[IndexDocument]:
        """The documents of these versions; `known` has text and origin of those in hand."""
        return list(index_documents(INDEXED, self.records, self.blobs, current, known))


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
        captured=to_datetime14(item.capture.captured_at),
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
