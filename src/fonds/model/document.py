"""A document of the full-text index."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

from fonds.model.file import Kind


class DateKind(StrEnum):
    """What the publication date of an indexed document means: published, or file created."""

    PUBLISHED = "published"
    CREATED = "created"  # creation of the file, perhaps long after publication


class DateOf(StrEnum):
    """Which date of a document a search uses: publication, capture, or addition to the index."""

    PUBLISHED = "published"  # `publication_date`, of either kind
    CAPTURED = "captured"
    ADDED = "added"  # date of `indexed_date` in UTC

    @property
    def field_name(self) -> str:
        """Name of the document field that holds this date."""
        return {"published": "publication_date", "added": "indexed_date"}.get(self, str(self))


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """Version of a story that was captured before the version that the story's document shows.

    - `sha1hex`: SHA-1 of the version's file in hex.
    - `captured`: capture time of the version, 14 digits (YYYYMMDDhhmmss in UTC).
    - `title`: title of the version; None if unknown.
    - `text`: text of the version. "" if a later version has the same text. Always "" in documents
      read from an index, because the index searches the texts of versions without storing them.
    """

    sha1hex: str
    captured: str
    title: str | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """Document of the full-text index: one PDF or one story.

    A story is one document, even if many files were captured at its URL.

    - `id`: SHA-1 of the file for a PDF; story id for a story.
    - `sha1hex`: SHA-1 of the PDF, or of the version of the story that the document shows.
    - `publication_date`: None if unknown.
    - `date_kind`: whether `publication_date` is a date of publication or of creation of the file.
    - `captured`: capture date of the file with the SHA-1 `sha1hex`.
    - `status`: status of the text extraction from the file.
    - `doi`: DOI in lower case.
    - `licenses`, `holders`, `prefers`: licences, rights holders and usage preferences that the
      captures and the file state (`rights/combined_rights.py`). Licences and preferences are in
      lower case.
    - `earlier`: earlier versions of a story, newest first. A version is included only if no later
      version has the same text and title.
    - `earlier_left_out`: number of earlier versions that `earlier` lacks, or whose text is missing
      or cut, because there are too many versions or the texts are too long.

    The fields `url canonical_domain publication_date language article_title text_content
    indexed_date` have the names of the Elasticsearch mapping in seed document 004, so that existing
    clients work.
    """

    id: str
    sha1hex: str
    kind: Kind
    url: str
    canonical_domain: str
    publication_date: date | None
    language: str | None
    article_title: str | None
    text_content: str
    indexed_date: datetime
    collection: str = "default"
    story_id: str | None = None
    page_count: int | None = None
    word_count: int | None = None
    has_thumbnail: bool = False
    authors: tuple[str, ...] = ()
    doi: str | None = None
    status: str | None = None
    date_kind: DateKind | None = None
    captured: date | None = None
    earlier: tuple[EarlierVersion, ...] = ()
    earlier_left_out: int = 0
    licenses: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    prefers: tuple[str, ...] = ()

    def get_day(self, date_of: DateOf) -> date | None:
        """Return the publication, capture or indexing date of the document; None if unknown."""
        if date_of is DateOf.ADDED:
            return self.indexed_date.astimezone(UTC).date()
        return self.captured if date_of is DateOf.CAPTURED else self.publication_date
