"""Works out of BibJSON, as the convention has it and as it is often shortened.

Source: BibJSON convention (okfnlabs.org/bibjson): `author` and `identifier` are lists of objects, `journal`
is one; many write `authors` as names, `doi` as a field and `journal` as its name.
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
    """Whether a record may have this form: a title, and something else it knows."""
    return "title" in record and any(name in record for name in _MARKS)


def parse_bibjson(record: Mapping[str, Any]) -> Work:
    """The work. One without any identifier is named by the hash of its record."""
    found = collect_identifiers(list(_iter_identifiers(record)))
    journal = record.get("journal")
    fields: Mapping[str, Any] = journal if isinstance(journal, Mapping) else {"name": journal}
    named = record.get("author") or record.get("authors")
    own = clean_text(record.get("_id") or record.get("id"), ID_MAX_CHARS)
    if own is None:
        own = sha256(msgspec.json.encode(record, order="deterministic")).hexdigest()[:32]
    doi, arxiv, pmid = found.get("doi"), found.get("arxiv_id"), found.get("pmid")
    known = [("doi", doi), ("arxiv", arxiv), ("pmid", pmid)]
    issn = find_issn(found.get("issn") or clean_text(fields.get("issn")) or "")
    return Work(
        id=next((f"{name}:{value}" for name, value in known if value), f"bibjson:{own}"),
        source="bibjson",
        title=clean_text(record.get("title"), TITLE_MAX_CHARS),
        authors=parse_names(_parse_name(one) for one in named) if isinstance(named, list) else (),
        year=parse_year(record.get("year")),
        container=clean_text(fields.get("name")) or clean_text(record.get("booktitle")),
        container_short=clean_text(fields.get("shortcode")),
        issn=(issn,) if issn else (),
        volume=clean_text(record.get("volume") or fields.get("volume")),
        issue=clean_text(record.get("number") or record.get("issue") or fields.get("issue")),
        pages=clean_text(record.get("pages") or fields.get("pages")),
        type=clean_text(record.get("type")),
        doi=doi,
        arxiv_id=arxiv,
        pmid=pmid,
        pmcid=found.get("pmcid"),
    )


def _iter_identifiers(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    listed = record.get("identifier")
    for one in listed[:IDENTIFIERS_MAX] if isinstance(listed, list) else ():
        if isinstance(one, Mapping):
            kind, value = clean_text(one.get("type")), clean_text(one.get("id"), ID_MAX_CHARS)
            if kind and value:
                yield kind, value
    for name in ("doi", "pmid", "pmcid", "arxiv", "issn"):
        value = clean_text(record.get(name), ID_MAX_CHARS)
        if value:
            yield name, value


def _parse_name(value: object) -> object:
    """The name of an author who is an object, `Family, Given` where it is parted."""
    if not isinstance(value, Mapping):
        return value
    family = clean_text(value.get("lastname") or value.get("family"))
    given = clean_text(value.get("firstname") or value.get("given")) or ""
    return f"{family}, {given}" if family else value.get("name")
