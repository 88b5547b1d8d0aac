"""import_story: write a story's text to the blobs, its metadata to the records, and both to the
search index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from email.utils import parsedate_to_datetime

from fonds.derivatives.document_rows import CurrentRow, iter_index_documents
from fonds.derivatives.documents import (
    DocumentOrigin,
    build_text_blob,
    encode_text,
    index_until_stable,
)
from fonds.derivatives.fixity import TEXT, build_fixity, build_row_fixity
from fonds.derivatives.sketch import build_page_sketch, write_sketches
from fonds.derivatives.story import INDEXED, build_rights_rows
from fonds.derivatives.story_versions import load_current_versions
from fonds.model.capture import format_datetime14
from fonds.model.document import IndexDocument
from fonds.model.rows import StoryMetaRow
from fonds.model.step import Result
from fonds.model.story import ParsedPage, Story
from fonds.ports import Blobs, Index, Records
from fonds.rights.combined_rights import add_rights
from fonds.rights.file_rights import remove_stale_rights

EMITS = ()


@dataclass(frozen=True, slots=True)
class ImportStoryStep:
    """Step that stores parsed stories: first blobs, then rows, then the search index.

    This order ensures that everything a row refers to exists. The search index has one document per
    story. The document describes the version of the story that was captured last, and includes the
    texts of earlier versions.
    """

    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[ParsedPage]) -> list[Result]:
        """Store the stories. A repeated call for the same page (SHA-1) has the same result."""
        now = self.clock()
        rows = [_build_row(item, now) for item in items]
        texts = [encode_text(item.story.content_metadata.text_content or "") for item in items]
        rows_with_texts = zip(rows, texts, strict=True)
        self.blobs.put([build_text_blob(row.sha1hex, text) for row, text in rows_with_texts])
        left_stories = self._find_left_stories(rows)
        text_fixity = [
            build_fixity(row.sha1hex, TEXT, text) for row, text in zip(rows, texts, strict=True)
        ]
        sketches = [
            build_page_sketch(row, item.story.content_metadata.text_content or "")
            for row, item in zip(rows, items, strict=True)
        ]
        rights = [rights_row for row in rows for rights_row in build_rights_rows(row)]
        companion_rows = [*map(build_row_fixity, rows), *text_fixity, *rights]
        write_sketches(self.records, sketches, [*rows, *companion_rows])
        remove_stale_rights(self.records, rows, rights)
        loaded_texts = {
            item.file.sha1: (text, DocumentOrigin(item.capture.url, "", item.capture.collection))
            for item, text in zip(items, texts, strict=True)
        }
        ids = sorted({*left_stories, *(row.story_id for row in rows)})
        index_until_stable(
            self.records,
            self.index,
            ids,
            lambda: load_current_versions(self.records, ids),
            lambda versions: self._list_documents(versions, loaded_texts),
        )
        return [Result() for _ in items]

    def _find_left_stories(self, rows: Sequence[StoryMetaRow]) -> set[str]:
        """Update the index documents of stories that lose a page (version) to another story. Return
        the ids of the losing stories.

        A page that is parsed again may now state another URL, and so belong to another story. The
        documents are updated before the rows change, because afterwards the old story of the page
        would be unknown.
        """
        story_ids = {row.sha1hex: row.story_id for row in rows}
        old_rows = self.records.get(StoryMetaRow, list(story_ids))
        left_stories = {row.story_id for row in old_rows if row.story_id != story_ids[row.sha1hex]}
        if left_stories:
            remaining = load_current_versions(
                self.records, sorted(left_stories), excluded_files=story_ids
            )
            self.index.put(
                add_rights(self.records, self._list_documents(list(remaining.values()), {}))
            )
            self.index.delete(sorted(left_stories - remaining.keys()))
        return left_stories

    def _list_documents(
        self,
        current: Sequence[CurrentRow],
        loaded_texts: Mapping[str, tuple[bytes, DocumentOrigin]],
    ) -> list[IndexDocument]:
        """Build the index documents of the current version of each story.

        `loaded_texts` has text and origin of the versions that are in memory, by SHA-1. Other texts
        are read from the blobs.
        """
        return list(iter_index_documents(INDEXED, self.records, self.blobs, current, loaded_texts))


def choose_publication_date(story: Story) -> date | None:
    """Return the publication date that the parser found, else the date in the feed; None if neither
    is valid.

    The stored story keeps both dates.
    """
    try:
        return date.fromisoformat(story.content_metadata.publication_date or "")
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(story.rss_entry.pub_date or "").date()
    except (ValueError, OverflowError):
        return None


def _build_row(item: ParsedPage, now: datetime) -> StoryMetaRow:
    content = item.story.content_metadata
    publication_date = choose_publication_date(item.story)
    without_text = replace(item.story, content_metadata=replace(content, text_content=None))
    return StoryMetaRow(
        sha1hex=item.file.sha1,
        story_id=item.story_id,
        captured=format_datetime14(item.capture.captured_at),
        updated=now,
        status="success",
        url=content.url or item.capture.url,
        canonical_domain=content.canonical_domain or "",
        publication_date=publication_date.isoformat() if publication_date else None,
        language=content.language,
        article_title=content.article_title,
        word_count=len((content.text_content or "").split()),
        story=without_text,
        extractor=item.extractor,
    )
