"""Parse works from BibJSON, both as its convention defines it and in common short forms.

Source: BibJSON convention (okfnlabs.org/bibjson): `author` and `identifier` are lists of objects
and `journal` is an object. Many records write `authors` as names, `doi` as a field and `journal`
as a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from fonds.papers.bibliography.identifiers import (
    collect_identifiers,
    find_issn,
)
from fonds.papers.catalog.work import (
    ID_MAX_CHARS,
    TITLE_MAX_CHARS,
    Work,
    clean_text,
    parse_names,
    parse_year,
)

IDENTIFIERS_MAX = 50
_MARKS = ("author", "authors", "identifier", "doi", "journal")


def is_bibjson(record: Mapping[str, Any]) -> bool:
    """Return whether a record looks like BibJSON: it has a title and one other known field, such as
    `authors` or `doi`.
    """
    return "title" in record and any(name in record for name in _MARKS)


def parse_bibjson(record: Mapping[str, Any]) -> Work:
    """Parse a work from a BibJSON record.

    The id of the work is its DOI, arXiv id or PubMed number, or else the record's own id, or else a
    hash of the record.
    """
    identifiers = collect_identifiers(list(_iter_identifiers(record)))
    journal = record.get("journal")
    fields: Mapping[str, Any] = journal if isinstance(journal, Mapping) else {"name": journal}
    names = record.get("author") or record.get("authors")
    own_id = clean_text(record.get("_id") or record.get("id"), ID_MAX_CHARS)
    if own_id is None:
        own_id = sha256(msgspec.json.encode(record, order="deterministic")).hexdigest()[:32]
    id_choices = [
        ("doi", identifiers.doi),
        ("arxiv", identifiers.arxiv_id),
        ("pmid", identifiers.pmid),
    ]
    issn = find_issn(identifiers.issn or clean_text(fields.get("issn")) or "")
    return Work(
        id=next((f"{name}:{value}" for name, value in id_choices if value), f"bibjson:{own_id}"),
        source="bibjson",
        title=clean_text(record.get("title"), TITLE_MAX_CHARS),
        authors=parse_names(_parse_name(author_value) for author_value in names)
        if isinstance(names, list)
        else (),
        year=parse_year(record.get("year")),
        container=clean_text(fields.get("name")) or clean_text(record.get("booktitle")),
        container_short=clean_text(fields.get("shortcode")),
        issn=(issn,) if issn else (),
        volume=clean_text(record.get("volume") or fields.get("volume")),
        issue=clean_text(record.get("number") or record.get("issue") or fields.get("issue")),
        pages=clean_text(record.get("pages") or fields.get("pages")),
        type=clean_text(record.get("type")),
        doi=identifiers.doi,
        arxiv_id=identifiers.arxiv_id,
        pmid=identifiers.pmid,
        pmcid=identifiers.pmcid,
    )


def _iter_identifiers(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    entries = record.get("identifier")
    for entry in entries[:IDENTIFIERS_MAX] if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            kind, value = clean_text(entry.get("type")), clean_text(entry.get("id"), ID_MAX_CHARS)
            if kind and value:
                yield kind, value
    for name in ("doi", "pmid", "pmcid", "arxiv", "issn"):
        value = clean_text(record.get(name), ID_MAX_CHARS)
        if value:
            yield name, value


def _parse_name(value: object) -> object:
    """Return an author's name as text. An object with a family name becomes `Family, Given`.

    A name that is text already is returned unchanged.
    """
    if not isinstance(value, Mapping):
        return value
    family = clean_text(value.get("lastname") or value.get("family"))
    given_name = clean_text(value.get("firstname") or value.get("given")) or ""
    return f"{family}, {given_name}" if family else value.get("name")
