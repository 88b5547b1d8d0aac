"""Records of works out of lines and whole files of JSON, whichever form they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from fonds.catalog.works.bibjson import from_bibjson, is_bibjson
from fonds.catalog.works.crossref import from_crossref, is_crossref
from fonds.catalog.works.fatcat import from_fatcat, is_fatcat
from fonds.catalog.works.openalex import from_openalex, is_openalex
from fonds.catalog.works.work import Work

SHOWN_CHARS = 120


class Refusal(StrEnum):
    """Why a record is not in the catalogue; closed."""

    explanation: str

    def __new__(cls, value: str, explanation: str = "") -> Refusal:
        """Attach to the word what people read."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.explanation = explanation
        return member

    NOT_JSON = "not-json", "the line is no JSON"
    NOT_A_RECORD = "not-a-record", "the JSON has none of the forms that are read"
    TOO_LONG = "too-long", "the line or file is longer than is read"
    UNPACKING = "unpacking", "the file cannot be unpacked to its end"
    NO_IDENTIFIER = "no-identifier", "the record has no identifier that is one"
    NO_TITLE = "no-title", "the record has neither title, nor DOI with author and year"
    NOT_A_WORK = "not-a-work", "the record is about a journal, an issue, a part or a review"


class Refused(msgspec.Struct, frozen=True):
    """A record that was not taken, and what exactly is wrong with it."""

    reason: Refusal
    detail: str = ""


_FORMS: tuple[
    tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], Work | None]], ...
] = (
    (is_crossref, from_crossref),
    (is_fatcat, from_fatcat),
    (is_openalex, from_openalex),
    (is_bibjson, from_bibjson),
)


def decoded(data: bytes) -> Any:
    """JSON. Raises ValueError for what is none, or nested too deeply."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def records_in(value: Any) -> Iterator[Any]:
    """The records of one JSON value: those of a list, of `items` or `results`, of an answer's `message`, of
    BibJSON's `records`; else itself."""
    if isinstance(value, Mapping) and isinstance(value.get("message"), Mapping):
        value = value["message"]
    if isinstance(value, Mapping):
        for name in ("items", "results", "records"):
            if isinstance(value.get(name), list):
                value = value[name]
                break
    yield from value if isinstance(value, list) else (value,)


def work_in(record: Any) -> Work | Refused:
    """The work of one record, or why it is none."""
    if not isinstance(record, Mapping):
        return Refused(Refusal.NOT_A_RECORD, f"{record!r:.{SHOWN_CHARS}}")
    read = next((read for is_form, read in _FORMS if is_form(record)), None)
    if read is None:
        names = ", ".join(sorted(map(str, record))[:8])
        return Refused(Refusal.NOT_A_RECORD, f"it has the fields {names:.{SHOWN_CHARS}}")
    try:
        work = read(record)
    except ValueError as error:
        return Refused(Refusal.NO_IDENTIFIER, str(error))
    if work is None:
        return Refused(Refusal.NOT_A_WORK)
    if not work.title and not (work.doi and work.authors and work.year):
        return Refused(Refusal.NO_TITLE, work.id)
    return work
