"""Derivative kind `story`: text and metadata of a news page.

Versions of a story are the pages with different bytes at one URL. A story has one index document
for all its versions, built from the version captured last. Source: seed document 004,
"Elasticsearch" mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime

import msgspec

from fonds.derivatives.document_rows import IndexedKind
from fonds.derivatives.documents import (
    DocumentOrigin,
    decode_blob_text,
    parse_authors,
    parse_day14,
)
from fonds.derivatives.kind import DerivativeKind, Fact, RereadPlan, format_count, iter_flat_facts
from fonds.derivatives.story_versions import list_versions_by_story, load_current_versions
from fonds.model.capture import Capture
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import PAGE_TYPES, FileMeta, Kind, UnparsedPage
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import Row, StoryMetaRow
from fonds.model.stored_json import clean_text
from fonds.model.story import Story
from fonds.model.story_json import encode_story, encode_warc_metadata
from fonds.rights.file_rights import build_file_rights

CLAIMED_PARTS = ("http_metadata", "rss_entry")
"""Parts of a story's metadata that the server or the feed states, not the page."""
COLUMNS = {
    "status": "text",
    "url": "text",
    "title": "text",
    "authors": "texts",
    "publication_date": "date",
    "language": "text",
    "canonical_domain": "text",
    "story_id": "text",
    "word_count": "integer",
    "extractor": "text",
    "metadata": "text",
}


def list_authors(row: StoryMetaRow) -> tuple[str, ...]:
    """Return the names of a news page's authors, cleaned, at most 100."""
    return parse_authors(row.story.page_metadata.authors)


def build_document(row: StoryMetaRow, blob: bytes | None, origin: DocumentOrigin) -> IndexDocument:
    """Build the index document of a news page, without earlier versions of the story.

    All values come from the row of the page, except text and collection.
    """
    return IndexDocument(
        id=row.story_id,
        sha1hex=row.sha1hex,
        kind=Kind.STORY,
        url=clean_text(row.url),
        canonical_domain=clean_text(row.canonical_domain),
        publication_date=_parse_day(row.publication_date),
        language=row.language,
        article_title=None if row.article_title is None else clean_text(row.article_title),
        text_content=decode_blob_text(blob),
        indexed_date=_get_parsed_at(row.story) or row.updated,
        collection=clean_text(origin.collection),
        story_id=row.story_id,
        word_count=row.word_count,
        authors=list_authors(row),
        status=row.status,
        date_kind=DateKind.PUBLISHED if _parse_day(row.publication_date) else None,
        captured=parse_day14(row.captured),
    )


def _parse_day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def _get_parsed_at(story: Story) -> datetime | None:
    """Return the time at which a page was parsed; None if it is not recorded.

    A time without a zone counts as UTC. Times in archives of Media Cloud have no zone, and some of
    early 2024 have only the date.
    """
    try:
        moment = datetime.fromisoformat(story.content_metadata.parsed_date or "")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _build_values(row: StoryMetaRow, document: IndexDocument | None) -> dict[str, object]:
    """Compute the export columns of a news page from its row.

    The index document is not used, because it describes only one version of a story.
    """
    return {
        "status": row.status,
        "url": row.url,
        "title": row.article_title,
        "authors": list(list_authors(row)) or None,
        "publication_date": row.publication_date,
        "language": row.language,
        "canonical_domain": row.canonical_domain,
        "story_id": row.story_id,
        "word_count": row.word_count,
        "extractor": row.extractor,
        "metadata": msgspec.json.encode(encode_story(row.story), order="deterministic").decode(),
    }


def _build_facts(row: StoryMetaRow) -> list[Fact]:
    story = encode_story(row.story)
    claimed_parts = [story.get(part) for part in CLAIMED_PARTS]
    return [
        Fact("domain", row.canonical_domain or None),
        Fact("publication date", row.publication_date),
        Fact("language", row.language),
        Fact("authors", ", ".join(list_authors(row)) or None),
        Fact("words", format_count(row.word_count)),
        Fact("story id", row.story_id),
        Fact("extractor", row.extractor),
        *(
            fact
            for part in claimed_parts
            if isinstance(part, Mapping)
            for fact in iter_flat_facts(
                {name: part[name] for name in part if name != "rights"}, is_claim=True
            )
        ),
    ]


def build_rights_rows(row: StoryMetaRow) -> list[Row]:
    """Return a list with the row of the rights that a news page states; [] if it states none."""
    return build_file_rights(row, row.story.page_metadata.rights)


def _build_work(capture: Capture, file: FileMeta, after: datetime | None) -> UnparsedPage:
    return UnparsedPage(capture, file, again=True)


READING = RereadPlan(
    step="parse_story",
    payload=UnparsedPage,
    work=_build_work,
    extractor=lambda names: names.page,
    other_steps=("restore_story",),
)
"""How pages are parsed again. Other derivatives that the same step computes are renewed too."""
INDEXED = IndexedKind(
    row_filter={},
    id_column="story_id",
    load_current=load_current_versions,
    has_text=lambda row: True,
    build_document=build_document,
    list_versions=list_versions_by_story,
)
KIND = DerivativeKind(
    name="story",
    title="story",
    mimetypes=PAGE_TYPES,
    row=StoryMetaRow,
    step="import_story",
    build_rows=build_rights_rows,
    list_blobs=lambda row: [build_text_blob_key(row.sha1hex)],
    indexed=INDEXED,
    columns=COLUMNS,
    build_values=_build_values,
    build_facts=_build_facts,
    build_warc_metadata=lambda row: encode_warc_metadata(row.story),
    reading=READING,
)
