"""A document of the full-text index."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

from fonds.model.file import Kind


class DateKind(StrEnum):
    """What a document's date is the day of, as it states it itself; closed."""

    PUBLISHED = "published"
    CREATED = "created"  # when the file was made, which may be long after


class DateOf(StrEnum):
    """Which of a document's days is meant."""

    PUBLISHED = "published"  # what `publication_date` says, of either kind
    CAPTURED = "captured"
    ADDED = "added"  # the day of `indexed_date`, in UTC

    @property
    def field_name(self) -> str:
        """The field of a document that holds it."""
        return {"published": "publication_date", "added": "indexed_date"}.get(self, str(self))


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """A version of a story captured before the one its document is made of.

    `captured` is the 14-digit time of its capture. `text` is '' where a later version has the same text, and
    in all documents that come from an index: texts of versions are searched there and not kept.
    """

    sha1hex: str
    captured: str
    title: str | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """What the index holds of a PDF or a story, known by `id`.

    The id of a PDF is its SHA-1, that of a story its story id: however many files were met at its address,
    it is one document, of the version whose SHA-1 is `sha1hex`.

    The first seven text fields have the names of the Elasticsearch mapping in seed 004, so that
    existing clients work: `url canonical_domain publication_date language article_title text_content
    indexed_date`. `publication_date` None means undated; `date_kind` says what it is the day of.
    `captured` is the day of the capture the document goes by, `status` how reading its file ended, `doi` in
    lower case. `licenses`, `holders` and `prefers` are what its captures and its file state of the use of it
    (`rights/file_rights.py`); licences and preferences in lower case.

    `earlier` are the versions of a story captured before, the newest first: one for each text and title that
    no later version has. `earlier_left_out` counts versions that are missing there, or whose text is missing
    or cut, because there are too many or they are too long.
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
        """The day of this kind; None where it is not known."""
        if date_of is DateOf.ADDED:
            return self.indexed_date.astimezone(UTC).date()
        return self.captured if date_of is DateOf.CAPTURED else self.publication_date
