"""Derivative kind `grobid`: bibliography that a GROBID server extracted from a PDF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.derivatives.kind import DerivativeKind, Fact, RereadPlan, format_count, format_fact_name
from fonds.derivatives.stored_result import is_result_complete
from fonds.model.bibliography import Author, Journal, PaperHead, PaperSummary
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
    str(status)
    for status in GrobidStatus
    if status.status_class not in (StatusClass.OK, StatusClass.CONTENT)
)
NAMES_MAX = 10


@dataclass(frozen=True, slots=True)
class KnownGrobid:
    """Lookup of stored GROBID results, so that no PDF is sent to GROBID twice.

    `extractor`: name of the current GROBID client. Results of other clients do not count.
    """

    records: Records
    extractor: str

    def __call__(self, item: UngrobidedPdf) -> Disposition | None:
        """Return DONE if this client has stored a final result for a PDF; None if the PDF must be
        sent to GROBID.

        If the item has a time `after`, results from before that time do not count. Neither does a
        result that was stored incompletely, because a process was killed.
        """
        for row in self.records.get(GrobidRow, [item.file.sha1]):
            if row.status == GrobidStatus.EMPTY_BLOB and item.file.size:
                # The file of an earlier task was empty; this one has bytes.
                continue
            is_final = row.extractor == self.extractor and row.status not in RETRY_STATUSES
            is_new = item.after is None or row.updated >= item.after
            if (
                is_final
                and is_new
                and is_result_complete(self.records, row.sha1hex, KIND.step, row.updated)
            ):
                return DONE
        return None


def build_biblio_facts(metadata: PaperSummary | None) -> list[Fact]:
    """Return the facts about a paper for display: title, authors, journal, date, identifiers and
    number of references.
    """
    head = metadata.head if metadata else PaperHead()
    facts = [
        Fact("title", head.title or None, claimed=True),
        Fact("authors", _format_names([author.name for author in head.authors]), claimed=True),
    ]
    orcids = [author.orcid for author in head.authors if author.orcid]
    details = {
        "affiliations": _format_affiliations(head.authors),
        "ORCID": _format_names(orcids),
        **_build_journal_details(head.journal or Journal()),
    }
    facts += [Fact(title, text, claimed=True) for title, text in details.items() if text]
    identifiers = {
        "date": head.date,
        "doi": head.doi,
        "arxiv_id": head.arxiv_id,
        "pmid": head.pmid,
        "pmcid": head.pmcid,
    }
    facts += [
        Fact(format_fact_name(name), value, claimed=True)
        for name, value in identifiers.items()
        if value
    ]
    facts.append(Fact("references", format_count(metadata.reference_count if metadata else None)))
    return facts


def _build_journal_details(journal: Journal) -> dict[str, str | None]:
    return {
        "journal": journal.name,
        "volume": journal.volume,
        "issue": journal.issue,
        "pages in the journal": journal.pages,
        "publisher": journal.publisher,
        "ISSN": journal.issn,
        "ISSN of the electronic edition": journal.eissn,
    }


def _format_affiliations(authors: Sequence[Author]) -> str | None:
    """Return the distinct institutions of the authors as text; None if no institution is known."""
    affiliations = [
        affiliation
        for author in authors
        for affiliation in (author.affiliation, *author.affiliations)
        if affiliation
    ]
    names = [affiliation.institution or affiliation.unstructured for affiliation in affiliations]
    return _format_names(list(dict.fromkeys(name for name in names if name)))


def _format_names(names: Sequence[str]) -> str | None:
    """Return the first 10 names and the number of further names as text; None without names."""
    suffix = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return "; ".join(names[:NAMES_MAX]) + suffix or None


def _build_facts(row: GrobidRow) -> list[Fact]:
    facts = [
        Fact("GROBID", row.status),
        Fact("HTTP status", str(row.status_code)),
        Fact("error", row.error_msg, "nothing"),
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
        statuses=tuple(str(status) for status in GrobidStatus),
        retry_statuses=RETRY_STATUSES,
        kept_statuses=frozenset(map(str, GrobidStatus)) - FILELESS_STATUSES,
    ),
)
