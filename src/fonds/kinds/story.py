"""The kind `story`: text and metadata of a news page. Its document is the story's: of several versions, the
pages of one address with different bytes, it is made of the one captured last.

Source: seed 004, "Elasticsearch" mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime

import msgspec

from fonds.formats.envelope import story_from_values
from fonds.kinds.documents import Origin, authors_of, cleaned, day_seen, text_of
from fonds.kinds.indexed import Indexed
from fonds.kinds.kind import DerivativeKind, Fact, Reading, digits, flat
from fonds.kinds.rights import file_rights
from fonds.kinds.story_versions import current_versions, rising_versions
from fonds.model.capture import Capture
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import PAGE_TYPES, FileMeta, Kind, Unparsed
from fonds.model.keys import text_blob_key
from fonds.model.rows import Row, StoryMetaRow
from fonds.model.story import Story

CLAIMED_PARTS = ("http_metadata", "rss_entry")
"""The sub-objects that are what the server and the feed say, not what was found in the page."""
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


def story_of(row: StoryMetaRow) -> Story:
    """Return the typed story of a row. Fields of a wrong type are None; unknown ones are kept aside."""
    return story_from_values(row.story)


def authors(row: StoryMetaRow) -> tuple[str, ...]:
    """Return the names of a page's authors, cleaned, at most 100."""
    return authors_of(story_of(row).page_metadata.authors)


def document(row: StoryMetaRow, blob: bytes | None, origin: Origin) -> IndexDocument:
    """The document of a page but for its earlier versions; all but text and collection stands in its row."""
    story = story_of(row)
    return IndexDocument(
        id=row.story_id,
        sha1hex=row.sha1hex,
        kind=Kind.STORY,
        url=cleaned(row.url),
        canonical_domain=cleaned(row.canonical_domain),
        publication_date=_day(row.publication_date),
        language=row.language,
        article_title=None if row.article_title is None else cleaned(row.article_title),
        text_content=text_of(blob),
        indexed_date=_parsed_at(story) or row.updated,
        collection=cleaned(origin.collection),
        story_id=row.story_id,
        word_count=row.word_count,
        authors=authors(row),
        status=row.status,
        date_kind=DateKind.PUBLISHED if _day(row.publication_date) else None,
        captured=day_seen(row.captured),
    )


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def _parsed_at(story: Story) -> datetime | None:
    """Return when the page was parsed, None when its story does not say so.

    A time without a zone is in UTC: Media Cloud's archives have none, and some of early 2024 have the day
    alone.
    """
    try:
        moment = datetime.fromisoformat(story.content_metadata.parsed_date or "")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _values(row: StoryMetaRow, found: IndexDocument | None) -> dict[str, object]:
    """All from the row: of several versions the index has one."""
    return {
        "status": row.status,
        "url": row.url,
        "title": row.article_title,
        "authors": list(authors(row)) or None,
        "publication_date": row.publication_date,
        "language": row.language,
        "canonical_domain": row.canonical_domain,
        "story_id": row.story_id,
        "word_count": row.word_count,
        "extractor": row.extractor,
        "metadata": msgspec.json.encode(row.story, order="deterministic").decode(),
    }


def _facts(row: StoryMetaRow) -> list[Fact]:
    claimed = [row.story.get(part) for part in CLAIMED_PARTS]
    return [
        Fact("domain", row.canonical_domain or None),
        Fact("publication date", row.publication_date),
        Fact("language", row.language),
        Fact("authors", ", ".join(authors(row)) or None),
        Fact("words", digits(row.word_count)),
        Fact("story id", row.story_id),
        Fact("extractor", row.extractor),
        *(
            fact
            for part in claimed
            if isinstance(part, Mapping)
            for fact in flat({name: part[name] for name in part if name != "rights"}, claimed=True)
        ),
    ]


def promised_rights(row: StoryMetaRow) -> list[Row]:
    """The row of what the page states about its use, if anything."""
    return file_rights(row, story_of(row).page_metadata.rights)


def _work(capture: Capture, file: FileMeta, after: datetime | None) -> Unparsed:
    return Unparsed(capture, file, again=True)


READING = Reading(
    step="parse_story",
    payload=Unparsed,
    work=_work,
    extractor=lambda names: names.page,
    others=("restore_story",),
)
"""How pages are read again; kinds that are made of what `parse_story` writes come with it."""
INDEXED = Indexed(
    where={},
    id_of=lambda row: row.story_id,
    current=current_versions,
    has_text=lambda row: True,
    document=document,
    versions=rising_versions,
)
KIND = DerivativeKind(
    name="story",
    title="story",
    mimetypes=PAGE_TYPES,
    row=StoryMetaRow,
    step="import_story",
    rows=promised_rights,
    blobs=lambda row: [text_blob_key(row.sha1hex)],
    indexed=INDEXED,
    columns=COLUMNS,
    values=_values,
    facts=_facts,
    beside=lambda row: msgspec.json.encode(row.story),
    reading=READING,
)
