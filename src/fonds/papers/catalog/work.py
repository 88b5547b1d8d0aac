"""Work (a publication) in the catalogue, as one source describes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from fonds.model.encoding import prepare_type
from fonds.papers.bibliography.person_names import find_family_start
from fonds.papers.catalog.slugs import build_slug, normalize_title

SOURCES = ("crossref", "fatcat", "openalex", "bibjson")
"""Sources of records, in order of precedence. Later sources fill in missing fields."""

AUTHORS_MAX, NAME_MAX_CHARS, TITLE_MAX_CHARS, SHORT_MAX_CHARS = 100, 200, 1_000, 300
ID_MAX_CHARS = 400
_YEARS = range(1400, 2101)
_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")


class WorkAuthor(msgspec.Struct, frozen=True, array_like=True):
    """Name of an author.

    - `surname`: family name, or the whole name if it cannot be split.
    - `given`: given name; "" if unknown.
    """

    surname: str
    given: str = ""


class Work(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Record of a work. Unknown fields are None or empty.

    - `id`: `doi:…` if the work has a DOI, otherwise `arxiv:…`, `pmid:…`, or source and id in the
      source.
    - `source`: source of the record, one of `SOURCES`.
    - `year`: year of first publication.
    - `container`: name of the journal, book or proceedings.
    - `container_short`: abbreviated name of the journal, book or proceedings.
    - `pages`: pages as stated, or the article number.
    - `type`: type of publication, as Crossref names it if possible.
    - `doi`, `arxiv_id`, `pmid`, `pmcid`: normalised identifiers without a prefix such as `doi:`.
    """

    id: str
    source: str
    title: str | None = None
    subtitle: str | None = None
    authors: tuple[WorkAuthor, ...] = ()
    year: int | None = None
    container: str | None = None
    container_short: str | None = None
    issn: tuple[str, ...] = ()
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    type: str | None = None
    doi: str | None = None
    arxiv_id: str | None = None
    pmid: str | None = None
    pmcid: str | None = None

    @property
    def full_title(self) -> str | None:
        """Title with subtitle, or only the title if it already contains the subtitle."""
        if (
            not self.title
            or not self.subtitle
            or build_slug(self.subtitle) in build_slug(self.title)
        ):
            return self.title or self.subtitle
        return f"{self.title}: {self.subtitle}"


def encode_work(work: Work) -> bytes:
    """Encode a work; equal works give equal bytes."""
    return msgspec.json.encode(work)


def decode_work(data: bytes) -> Work:
    """Decode a work from JSON. Raises ValueError if the JSON is invalid or describes no work."""
    try:
        return msgspec.json.decode(data, type=prepare_type(Work))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a work record: {error}") from error


def merge_records(records: Mapping[str, Work]) -> Work | None:
    """Merge the records of one work; each field comes from the first source that has it."""
    works = [records[name] for name in SOURCES if name in records]
    if not works:
        return None
    best = works[0]
    missing = {
        name: value
        for work in reversed(works[1:])
        for name in Work.__struct_fields__
        if not getattr(best, name) and (value := getattr(work, name))
    }
    return msgspec.structs.replace(best, **missing) if missing else best


def clean_text(value: object, max_chars: int = SHORT_MAX_CHARS) -> str | None:
    """Return a text from JSON without markup, cut to `max_chars`; None if there is none.

    If the value is a list, its first item is used. A whole number is converted to text.
    """
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return (normalize_title(value)[:max_chars] or None) if isinstance(value, str) else None


def parse_year(value: object) -> int | None:
    """Return the year (1400 to 2100) in a number or date; None if there is none."""
    if isinstance(value, str):
        match = _YEAR.search(value[:40])
        value = int(match[1]) if match else None
    is_year = isinstance(value, int) and not isinstance(value, bool) and value in _YEARS
    return int(value) if is_year and isinstance(value, int) else None


def parse_name(value: object) -> WorkAuthor | None:
    """Parse a person's name written as `Family, Given` or `Given Family`; particles such as "van"
    belong to the family name.
    """
    text = clean_text(value, NAME_MAX_CHARS)
    if text is None:
        return None
    family, comma, given_name = text.partition(",")
    if comma:
        return WorkAuthor(family.strip(), given_name.strip()) if family.strip() else None
    parts = text.split()
    start = find_family_start(parts)
    return WorkAuthor(" ".join(parts[start:]), " ".join(parts[:start]))


def parse_names(values: Iterable[object]) -> tuple[WorkAuthor, ...]:
    """Parse the names of authors, at most one hundred."""
    authors: list[WorkAuthor] = []
    for value in values:
        name = parse_name(value)
        if name is not None:
            authors.append(name)
        if len(authors) >= AUTHORS_MAX:
            break
    return tuple(authors)
