"""One record of a catalogue: the work it is about, and where the record came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from fonds.model.encoding import prepare_type
from fonds.papers.bibliography.person_names import find_family_start
from fonds.papers.catalog.slugs import build_slug, normalize_title

SOURCES = ("crossref", "fatcat", "openalex", "bibjson")
"""Where records come from; of several about one work the first says what the others do not."""

AUTHORS_MAX, NAME_MAX_CHARS, TITLE_MAX_CHARS, SHORT_MAX_CHARS = 100, 200, 1_000, 300
ID_MAX_CHARS = 400
_YEARS = range(1400, 2101)
_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")


class WorkAuthor(msgspec.Struct, frozen=True, array_like=True):
    """A name: the family's, or all of it where it is not parted, and the given ones, "" when unknown."""

    surname: str
    given: str = ""


class Work(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A work. `id` is `doi:…` where it has one, else `arxiv:…`, `pmid:…`, or the source and its own name.

    `doi`, `arxiv_id`, `pmid` and `pmcid` are bare and normalised; `year` that of its first publication;
    `container` the journal, book or proceedings, `container_short` its abbreviation; `pages` as told, or the
    article's number; `type` a word of Crossref's list where it is one of these.
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
        """The title with its subtitle, unless it holds that already."""
        if (
            not self.title
            or not self.subtitle
            or build_slug(self.subtitle) in build_slug(self.title)
        ):
            return self.title or self.subtitle
        return f"{self.title}: {self.subtitle}"


def encode_work(work: Work) -> bytes:
    """The same bytes for the same work."""
    return msgspec.json.encode(work)


def decode_work(data: bytes) -> Work:
    """The work again. Raises ValueError for what is none."""
    try:
        return msgspec.json.decode(data, type=prepare_type(Work))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no record of a work: {error}") from error


def merge_records(records: Mapping[str, Work]) -> Work | None:
    """What several sources say of one work together: each field by the first source that tells it."""
    found = [records[name] for name in SOURCES if name in records]
    if not found:
        return None
    best = found[0]
    missing = {
        name: value
        for other in reversed(found[1:])
        for name in Work.__struct_fields__
        if not getattr(best, name) and (value := getattr(other, name))
    }
    return msgspec.structs.replace(best, **missing) if missing else best


def clean_text(value: object, max_chars: int = SHORT_MAX_CHARS) -> str | None:
    """A text out of JSON without markup, cut; None for what is none. Of a list the first counts."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return (normalize_title(value)[:max_chars] or None) if isinstance(value, str) else None


def parse_year(value: object) -> int | None:
    """A year from 1400 to 2100, out of a number or the beginning of a date."""
    if isinstance(value, str):
        found = _YEAR.search(value[:40])
        value = int(found[1]) if found else None
    known = isinstance(value, int) and not isinstance(value, bool) and value in _YEARS
    return int(value) if known and isinstance(value, int) else None


def parse_name(value: object) -> WorkAuthor | None:
    """A name as it stands in one text: `Family, Given`, or the family's last, with its particles."""
    text = clean_text(value, NAME_MAX_CHARS)
    if text is None:
        return None
    family, comma, given = text.partition(",")
    if comma:
        return WorkAuthor(family.strip(), given.strip()) if family.strip() else None
    parts = text.split()
    start = find_family_start(parts)
    return WorkAuthor(" ".join(parts[start:]), " ".join(parts[:start]))


def parse_names(values: Iterable[object]) -> tuple[WorkAuthor, ...]:
    """The first hundred names."""
    found: list[WorkAuthor] = []
    for value in values:
        name = parse_name(value)
        if name is not None:
            found.append(name)
        if len(found) >= AUTHORS_MAX:
            break
    return tuple(found)
