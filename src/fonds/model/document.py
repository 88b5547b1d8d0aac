"""A document of the full-text index."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

from fonds.model.file import Kind


class DateKind(StrEnum):
    """Meaning of a document's own date; closed."""

    PUBLISHED = "published"
    CREATED = "created"  # creation of the file, perhaps long after publication


class DateOf(StrEnum):
    """Which date of a document is meant."""

    PUBLISHED = "published"  # `publication_date`, of either kind
    CAPTURED = "captured"
    ADDED = "added"  # date of `indexed_date` in UTC

    @property
    def field_name(self) -> str:
        """Field of a document with this date."""
        return {"published": "publication_date", "added": "indexed_date"}.get(self, str(self))


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """Version of a story captured before the version its document shows.

    `captured` is the 14-digit time of its capture. `text` is "" if a later version has the same
    text, and in all documents read from an index, which searches texts of versions without storing
    them.
    """

    sha1hex: str
    captured: str
    title: str | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """Document of a PDF or a story, identified by `id`.

    The id of a PDF is its SHA-1, that of a story its story id. A story is one document, even if
    many files were captured at its address; the document shows the version whose SHA-1 is
    `sha1hex`.

    The first seven text fields have the names of the Elasticsearch mapping in seed 004, so that
    existing clients work: `url canonical_domain publication_date language article_title
    text_content indexed_date`.

    - `publication_date`: None means undated; `date_kind` says what the date means.
    - `captured`: date of the capture shown.
    - `status`: how reading its file ended.
    - `doi`: in lower case.
    - `licenses`, `holders`, `prefers`: what its captures and its file state about its use
      (`rights/combined_rights.py`); licences and preferences in lower case.
    - `earlier`: versions of a story captured before, the newest first; one for each text and title
      that no later version has.
    - `earlier_left_out`: number of versions that are missing there, or whose text is missing or
      cut, because there are too many or they are too long.
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
        """Return the date of this kind; None if unknown."""
        if date_of is DateOf.ADDED:
            return self.indexed_date.astimezone(UTC).date()
        return self.captured if date_of is DateOf.CAPTURED else self.publication_date
