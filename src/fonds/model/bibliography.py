"""Bibliography of a paper: its metadata, text and references, as stored in JSON columns.

The field names are those that readers of GROBID's results have used since 2018.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fonds.model.rights import Statement


class Address(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    rename={"line": "addrLine", "postcode": "postCode"},
):
    """Postal address of an affiliation.

    The stored JSON uses the names of TEI: `addrLine` for `line`, `postCode` for `postcode`.
    """

    line: str | None = None
    postcode: str | None = None
    settlement: str | None = None
    region: str | None = None
    country: str | None = None


class Affiliation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Affiliation of an author.

    `unstructured` is the affiliation as printed, if it could not be split into the other fields.
    """

    institution: str | None = None
    department: str | None = None
    laboratory: str | None = None
    address: Address | None = None
    unstructured: str | None = None


class Author(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Author or editor of a paper.

    - `name`: full name in reading order.
    - `given_name`: first given name.
    - `middle_name`: all other given names.
    - `orcid`: ORCID identifier without a URL.
    - `affiliation`: first affiliation.
    - `affiliations`: all further affiliations.
    """

    name: str
    given_name: str | None = None
    middle_name: str | None = None
    surname: str | None = None
    email: str | None = None
    orcid: str | None = None
    affiliation: Affiliation | None = None
    affiliations: tuple[Affiliation, ...] = ()


class Journal(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Journal in which a paper appeared, with the volume, issue and pages of the paper."""

    name: str | None = None
    abbreviation: str | None = None
    publisher: str | None = None
    issn: str | None = None
    eissn: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None


class Funder(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Funder of a paper.

    - `name`: name of the funder.
    - `grants`: numbers of the grants for the paper.
    """

    name: str
    grants: tuple[str, ...] = ()


class Funding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Funding of a paper.

    - `funders`: funders with their grants.
    - `statement`: statement about funding as printed; None if there is none.
    """

    funders: tuple[Funder, ...] = ()
    statement: str | None = None


class Citation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One reference in the reference list of a paper. Unknown fields are None or empty.

    - `id`: identifier of the reference in the source document.
    - `index`: position in the reference list, from 0.
    - `date`: as precise as stated (`2011`, `2011-03`, `2011-03-28`).
    - `doi`, `pmid`, `pmcid`, `arxiv_id`, `issn`, `isbn`: normalised identifiers without a prefix
      such as `doi:`.
    - `unstructured`: reference as printed.
    """

    id: str
    index: int
    authors: tuple[Author, ...]
    title: str | None = None
    journal: str | None = None
    book_title: str | None = None
    series_title: str | None = None
    editors: tuple[Author, ...] = ()
    publisher: str | None = None
    institution: str | None = None
    date: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    url: str | None = None
    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    arxiv_id: str | None = None
    issn: str | None = None
    isbn: str | None = None
    unstructured: str | None = None


class Paper(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Metadata, text and references of a paper.

    Unknown fields are None or empty, and not in the JSON. Only `authors` and `citations` are always
    in it.

    - `date`: as precise as stated (`2011`, `2011-03`, `2011-03-28`).
    - `doi`: in lower case.
    - `language_code`: two or three letters.
    - `grobid_version`: extractor version that read the paper (GROBID or Fonds).
    - `grobid_timestamp`: time of the extraction, as GROBID wrote it.
    - `fatcat_release`: only in older results of other software; Fonds never writes this field.
    """

    # msgspec never omits a default that a function of ours returns.
    authors: tuple[Author, ...] = msgspec.field(default_factory=lambda: ())
    citations: tuple[Citation, ...] = msgspec.field(default_factory=lambda: ())
    grobid_version: str
    title: str | None = None
    journal: Journal | None = None
    date: str | None = None
    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    arxiv_id: str | None = None
    isbn: str | None = None
    keywords: tuple[str, ...] = ()
    abstract: str | None = None
    body: str | None = None
    acknowledgement: str | None = None
    annex: str | None = None
    funding: Funding | None = None
    language_code: str | None = None
    grobid_timestamp: str | None = None
    fatcat_release: str | None = None


class PaperHead(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Title, authors, journal, date and identifiers of a paper.

    - `date`: publication date, as precise as the paper states it (`2011`, `2011-03`, `2011-03-28`).
    - `doi`, `arxiv_id`, `pmid`, `pmcid`: identifiers without URL or prefix.
    """

    title: str | None = None
    authors: tuple[Author, ...] = ()
    journal: Journal | None = None
    date: str | None = None
    doi: str | None = None
    arxiv_id: str | None = None
    pmid: str | None = None
    pmcid: str | None = None


class PaperSummary(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Metadata of a paper, as stored in one JSON column of an SQL row.

    A missing field is None or an empty tuple, and is left out of the JSON.

    - `biblio`: title, authors, journal, date and identifiers.
    - `grobid_timestamp`: time at which GROBID processed the paper, as GROBID states it.
    - `language_code`: language of the paper.
    - `reference_count`: number of references in the reference list of the paper.
    - `rights`: licences and rights holders that a JATS article states.
    - `unknown`: JSON fields that other programs added, and fields whose value has an unexpected
      type.
    """

    biblio: PaperHead | None = None
    grobid_timestamp: str | None = None
    language_code: str | None = None
    reference_count: int | None = None
    rights: tuple[Statement, ...] = ()
    unknown: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def head(self) -> PaperHead:
        """Title, authors, journal, date and identifiers of the paper; all empty if `biblio` is
        None.
        """
        return self.biblio or PaperHead()
