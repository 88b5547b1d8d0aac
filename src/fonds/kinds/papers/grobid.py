"""The kind `grobid`: what a GROBID server read of a PDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fonds.kinds.fact_names import fact_name
from fonds.kinds.kind import DerivativeKind, Fact, Reading, digits
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition
from fonds.model.document import IndexDocument
from fonds.model.file import FileMeta
from fonds.model.keys import tei_blob_key
from fonds.model.paper import GrobidStatus, Ungrobided
from fonds.model.pdf import WITHOUT_FILE, StatusClass
from fonds.model.rows import GrobidRow
from fonds.ports import Records

AGAIN = frozenset(
    str(one)
    for one in GrobidStatus
    if one.status_class not in (StatusClass.OK, StatusClass.CONTENT)
)
NAMES_SHOWN = 10
JOURNAL = {
    "name": "journal", "volume": "volume", "issue": "issue", "pages": "pages in the journal",
    "publisher": "publisher", "issn": "ISSN", "eissn": "ISSN of the electronic edition",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownGrobid:
    """Asks the records what is known of a PDF, by SHA-1 and extractor."""

    records: Records
    extractor: str

    def __call__(self, item: Ungrobided) -> Disposition | None:
        """DONE for a PDF the same client has had read, or refused for good; None when it is to be asked."""
        for row in self.records.get(GrobidRow, [item.file.sha1]):
            if row.status == GrobidStatus.EMPTY_BLOB and item.file.size:
                # A task led to no bytes; these are others.
                continue
            counts = item.after is None or row.updated >= item.after
            if counts and row.extractor == self.extractor and row.status not in AGAIN:
                return DONE
        return None


def said(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What a row says of the paper; {} where it says nothing that can be understood."""
    found = (metadata or {}).get("biblio")
    return found if isinstance(found, Mapping) else {}


def biblio_facts(metadata: Mapping[str, Any] | None) -> list[Fact]:
    """Title, authors, journal, date, identifiers and how many references, as a row has them."""
    found = said(metadata)
    authors = _objects(found.get("authors"))
    names = [one.get("name", "") for one in authors]
    journal = found.get("journal")
    facts = [
        Fact("title", _text(found.get("title")), claimed=True),
        Fact("authors", _listed(names), claimed=True),
    ]
    orcids = [orcid for one in authors if (orcid := _text(one.get("orcid")))]
    more = {"affiliations": _affiliations(authors), "ORCID": _listed(orcids)}
    if isinstance(journal, Mapping):
        more |= {title: _text(journal.get(name)) for name, title in JOURNAL.items()}
    facts += [Fact(title, told, claimed=True) for title, told in more.items() if told]
    named = ("date", "doi", "arxiv_id", "pmid", "pmcid")
    facts += [
        Fact(fact_name(name), str(found[name]), claimed=True) for name in named if found.get(name)
    ]
    count = (metadata or {}).get("reference_count")
    facts.append(Fact("references", digits(count) if isinstance(count, int) else None))
    return facts


def _affiliations(authors: Sequence[Mapping[str, Any]]) -> str | None:
    """The institutions of the authors, each once."""
    found = [
        one
        for author in authors
        for one in _objects([author.get("affiliation")]) + _objects(author.get("affiliations"))
    ]
    names = [_text(one.get("institution")) or _text(one.get("unstructured")) for one in found]
    return _listed(list(dict.fromkeys(name for name in names if name)))


def _listed(names: Sequence[str]) -> str | None:
    """The first names, and how many more there are; None without any."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return "; ".join(names[:NAMES_SHOWN]) + more or None


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _facts(row: GrobidRow) -> list[Fact]:
    facts = [
        Fact("GROBID", row.status),
        Fact("HTTP status", str(row.status_code)),
        Fact("what went wrong", row.error_msg, "nothing"),
        Fact("GROBID version", row.grobid_version),
        Fact("quality", row.quality),
    ]
    return facts + (biblio_facts(row.metadata) if row.metadata else [])


def _values(row: GrobidRow, found: IndexDocument | None) -> dict[str, object]:
    return {
        "grobid_status": row.status,
        "grobid_status_code": row.status_code,
        "grobid_version": row.grobid_version,
        "grobid_quality": row.quality,
    }


def _work(capture: Capture, file: FileMeta, after: datetime | None) -> Ungrobided:
    return Ungrobided(capture, file, after)


_BLOBS: Callable[[GrobidRow], list[str]] = lambda row: (  # noqa: E731
    [tei_blob_key(row.sha1hex)] if row.status == GrobidStatus.SUCCESS else []
)

KIND = DerivativeKind(
    name="grobid",
    title="GROBID",
    mimetypes=("application/pdf",),
    row=GrobidRow,
    step="persist_grobid",
    cells=lambda row: ("grobid0:status", "grobid0:status_code"),
    blobs=_BLOBS,
    columns={
        "grobid_status": "text",
        "grobid_status_code": "integer",
        "grobid_version": "text",
        "grobid_quality": "text",
    },
    values=_values,
    facts=_facts,
    awaited="GROBID",
    reading=Reading(
        step="grobid",
        payload=Ungrobided,
        work=_work,
        extractor=lambda names: names.grobid,
        statuses=tuple(str(one) for one in GrobidStatus),
        again=AGAIN,
        kept=frozenset(map(str, GrobidStatus)) - WITHOUT_FILE,
    ),
)
