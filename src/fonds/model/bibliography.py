"""Bibliographic metadata of a paper as rows store it.

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
    """Address of an affiliation. In the JSON the names are TEI's."""

    line: str | None = None
    postcode: str | None = None
    settlement: str | None = None
    region: str | None = None
    country: str | None = None


class Affiliation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Affiliation of an author. `unstructured` is its printed text if its parts are unknown."""

    institution: str | None = None
    department: str | None = None
    laboratory: str | None = None
    address: Address | None = None
    unstructured: str | None = None


class Author(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Author or editor.

    `name` is the full name in reading order.
    `given_name` is the first given name; `middle_name` holds the others.
    `affiliations` are those after the first.
    `orcid` is bare.
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
    """Journal, volume and pages in which the paper itself appeared."""

    name: str | None = None
    abbreviation: str | None = None
    publisher: str | None = None
    issn: str | None = None
    eissn: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None


class PaperHead(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Title, authors, journal, date and identifiers of a paper.

    `date` is as precise as stated (`2011`, `2011-03`, `2011-03-28`). Identifiers are bare.
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
    """What a row stores of a paper. Missing fields are None or empty, and not in the JSON.

    - `rights`: statements of a JATS article.
    - `unknown`: fields of other programs, and values of other types (`stored_json.py`).
    """

    biblio: PaperHead | None = None
    grobid_timestamp: str | None = None
    language_code: str | None = None
    reference_count: int | None = None
    rights: tuple[Statement, ...] = ()
    unknown: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def head(self) -> PaperHead:
        """The bibliographic metadata; empty if there is none."""
        return self.biblio or PaperHead()
