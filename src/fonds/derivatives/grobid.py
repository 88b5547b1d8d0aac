"""The kind `grobid`: what a GROBID server read of a PDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fonds.derivatives.kind import DerivativeKind, Fact, RereadPlan, format_count, format_fact_name
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition
from fonds.model.document import IndexDocument
from fonds.model.file import FileMeta
from fonds.model.keys import build_tei_blob_key
from fonds.model.paper import GrobidStatus, UngrobidedPdf
from fonds.model.pdf import FILELESS_STATUSES, StatusClass
from fonds.model.rows import GrobidRow
from fonds.ports import Records

RETRY_STATUSES = frozenset(
    str(one)
    for one in GrobidStatus
    if one.status_class not in (StatusClass.OK, StatusClass.CONTENT)
)
NAMES_MAX = 10
JOURNAL = {
    "name": "journal", "volume": "volume", "issue": "issue", "pages": "pages in the journal",
    "publisher": "publisher", "issn": "ISSN", "eissn": "ISSN of the electronic edition",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownGrobid:
    """Asks the records what is known of a PDF, by SHA-1 and extractor."""

    records: Records
    extractor: str

    def __call__(self, item: UngrobidedPdf) -> Disposition | None:
        """DONE for a PDF the same client has had read, or refused for good; None when it is to be asked."""
        for row in self.records.get(GrobidRow, [item.file.sha1]):
            if row.status == GrobidStatus.EMPTY_BLOB and item.file.size:
                # A task led to no bytes; these are others.
                continue
            counts = item.after is None or row.updated >= item.after
            if counts and row.extractor == self.extractor and row.status not in RETRY_STATUSES:
                return DONE
        return None


def parse_metadata(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What a row says of the paper; {} where it says nothing that can be understood."""
    found = (metadata or {}).get("biblio")
    return found if isinstance(found, Mapping) else {}


def build_biblio_facts(metadata: Mapping[str, Any] | None) -> list[Fact]:
    """Title, authors, journal, date, identifiers and how many references, as a row has them."""
    found = parse_metadata(metadata)
    authors = _list_objects(found.get("authors"))
    names = [one.get("name", "") for one in authors]
    journal = found.get("journal")
    facts = [
        Fact("title", _get_text(found.get("title")), claimed=True),
        Fact("authors", _format_names(names), claimed=True),
    ]
    orcids = [orcid for one in authors if (orcid := _get_text(one.get("orcid")))]
    more = {"affiliations": _format_affiliations(authors), "ORCID": _format_names(orcids)}
    if isinstance(journal, Mapping):
        more |= {title: _get_text(journal.get(name)) for name, title in JOURNAL.items()}
    facts += [Fact(title, told, claimed=True) for title, told in more.items() if told]
    named = ("date", "doi", "arxiv_id", "pmid", "pmcid")
    facts += [
        Fact(format_fact_name(name), str(found[name]), claimed=True)
        for name in named
        if found.get(name)
    ]
    count = (metadata or {}).get("reference_count")
    facts.append(Fact("references", format_count(count) if isinstance(count, int) else None))
    return facts


def _format_affiliations(authors: Sequence[Mapping[str, Any]]) -> str | None:
    """The institutions of the authors, each once."""
    found = [
        one
        for author in authors
        for one in _list_objects([author.get("affiliation")])
        + _list_objects(author.get("affiliations"))
    ]
    names = [
        _get_text(one.get("institution")) or _get_text(one.get("unstructured")) for one in found
    ]
    return _format_names(list(dict.fromkeys(name for name in names if name)))


def _format_names(names: Sequence[str]) -> str | None:
    """The first names, and how many more there are; None without any."""
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return "; ".join(names[:NAMES_MAX]) + more or None


def _list_objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _get_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _build_facts(row: GrobidRow) -> list[Fact]:
    facts = [
        Fact("GROBID", row.status),
        Fact("HTTP status", str(row.status_code)),
        Fact("what went wrong", row.error_msg, "nothing"),
        Fact("GROBID version", row.grobid_version),
        Fact("quality", row.quality),
    ]
    return facts + (build_biblio_facts(row.metadata) if row.metadata else [])


def _build_values(row: GrobidRow, document: IndexDocument | None) -> dict[str, object]:
    return {
        "grobid_status": row.status,
        "grobid_status_code": row.status_code,
        "grobid_version": row.grobid_version,
        "grobid_quality": row.quality,
    }


def _build_work(capture: Capture, file: FileMeta, after: datetime | None) -> UngrobidedPdf:
    return UngrobidedPdf(capture, file, after)


_BLOBS: Callable[[GrobidRow], list[str]] = lambda row: (  # noqa: E731
    [build_tei_blob_key(row.sha1hex)] if row.status == GrobidStatus.SUCCESS else []
)

KIND = DerivativeKind(
    name="grobid",
    title="GROBID",
    mimetypes=("application/pdf",),
    row=GrobidRow,
    step="persist_grobid",
    list_cells=lambda row: ("grobid0:status", "grobid0:status_code"),
    list_blobs=_BLOBS,
    columns={
        "grobid_status": "text",
        "grobid_status_code": "integer",
        "grobid_version": "text",
        "grobid_quality": "text",
    },
    build_values=_build_values,
    build_facts=_build_facts,
    awaited="GROBID",
    reading=RereadPlan(
        step="grobid",
        payload=UngrobidedPdf,
        work=_build_work,
        extractor=lambda names: names.grobid,
        statuses=tuple(str(one) for one in GrobidStatus),
        retry_statuses=RETRY_STATUSES,
        kept_statuses=frozenset(map(str, GrobidStatus)) - FILELESS_STATUSES,
    ),
)
