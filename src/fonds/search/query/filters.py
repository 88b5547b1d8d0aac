"""What is asked beside the words, judged once for all backends: order, page, dates and exact values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fonds.model.file import SEARCHED_KINDS, Kind
from fonds.model.search import IDS_MAX, RESULTS_MAX, SearchQuery
from fonds.model.suggestions import format_unknown_name
from fonds.papers.bibliography.identifiers import strip_resolver
from fonds.rights.licenses import normalize_license
from fonds.text.language_codes import ISO_639_1, UNDETERMINED, find_two_letter_code
from fonds.urls.parts import split_address

FACET_VALUES_MAX = 1_000
SORTS = ("score", "newest", "oldest", "added", "id")
NONE = "none"
"""How people ask for documents without a language or a domain; both are kept as ''."""


def normalize_query(query: SearchQuery) -> SearchQuery:
    """The query with its values as they are kept.

    Raises ValueError with a sentence for people: for an order there is not, a page nobody can turn to,
    dates that exclude each other, and a language that is none.
    """
    _check_page(query)
    _check_dates(query)
    return replace(
        query,
        languages=_normalize_exact("language", query.languages),
        domains=_normalize_exact("canonical_domain", query.domains),
    )


def _normalize_exact(field: str, values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(normalize_exact_value(field, value) for value in values))


def normalize_exact_value(field: str, value: str) -> str:
    """A value of an exact field as it is kept. Raises ValueError for what none can be."""
    return _VALUES[field](value.strip())


def _format_sentence(message: str) -> str:
    return message[:1].upper() + message[1:].rstrip("?.") + ("?" if message.endswith("?") else ".")


def _normalize_kind(value: str) -> str:
    if value.lower() not in list(Kind):
        raise ValueError(_format_sentence(format_unknown_name("kind", value, SEARCHED_KINDS)))
    return value.lower()


def _normalize_language(value: str) -> str:
    code = value.lower()
    if code in ("", NONE):
        return ""
    known = code if code == UNDETERMINED else find_two_letter_code(code)
    if known is None:
        meant = f" Did you mean {code[:2]!r}?" if code[:2] in ISO_639_1 else ""
        raise ValueError(
            f"There is no language code {value!r}: they have two letters, as en;"
            f" {NONE!r} asks for documents without a language.{meant}"
        )
    return known


def _normalize_case(value: str) -> str:
    return "" if value.lower() == NONE else value.lower()


def _normalize_site(value: str) -> str:
    """A host, also out of a URL; subdomains are under it."""
    written = value if "//" in value else f"//{value}"
    host = split_address(written).host.lower().strip(".")
    return "" if host == NONE else host


def _normalize_doi(value: str) -> str:
    """A DOI as it is kept: without the resolver before it, in lower case."""
    plain = strip_resolver(value.lower())
    if plain == NONE:
        return ""
    if not plain.startswith("10.") or "/" not in plain:
        raise ValueError(
            "A DOI begins with 10. and has a slash, as 10.1234/abc; none asks for documents without."
        )
    return plain


def _normalize_license(value: str) -> str:
    """A licence as it is kept, also by its URL or in words: `CC BY 4.0`."""
    is_written_out = "://" in value or " " in value
    return normalize_license(value) if is_written_out else _normalize_case(value)


_VALUES: Mapping[str, Callable[[str], str]] = {
    "kind": _normalize_kind,
    "language": _normalize_language,
    "canonical_domain": _normalize_case,
    "collection": str,
    "sites": _normalize_site,
    "doi": _normalize_doi,
    "status": _normalize_case,
    "licenses": _normalize_license,
    "prefers": _normalize_case,
}


def _check_page(query: SearchQuery) -> None:
    if query.sort not in SORTS:
        raise ValueError(_format_sentence(format_unknown_name("order", query.sort, SORTS)))
    if len(query.ids) > IDS_MAX:
        raise ValueError(f"At most {IDS_MAX:,} documents can be named.")
    if query.offset < 0 or query.count_max < 0:
        raise ValueError("Results are counted from 0; a negative offset or count has no meaning.")
    if query.offset + query.count_max > RESULTS_MAX:
        raise ValueError(
            f"Only the first {RESULTS_MAX:,} results can be looked at; narrow the search instead."
        )
    if query.after is not None and (query.sort != "id" or query.offset):
        raise ValueError("Going on behind a document is for the order by id, without an offset.")
    if not 0 <= query.facet_values_max <= FACET_VALUES_MAX:
        raise ValueError(f"A facet shows up to {FACET_VALUES_MAX:,} values.")


def _check_dates(query: SearchQuery) -> None:
    first, last = query.date_from, query.date_to
    if first and last and first > last:
        raise ValueError(
            f"The dates exclude each other: from {first} is later than to {last}; exchange them."
        )
    if query.undated and (first or last):
        raise ValueError(
            "Documents without a date lie within no dates: leave undated or the dates out."
        )
