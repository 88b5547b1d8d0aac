"""Identifiers of papers: what a DOI is (`doi.py`), and the other schemes (`schemes.py`)."""

from fonds.bibliography.identifiers.schemes import (
    ARXIV_ID,
    BY_TYPE,
    arxiv_id_in,
    arxiv_id_of,
    identifiers,
    isbn_in,
    issn_in,
    number_of,
    orcid_in,
    pmcid_in,
    pmid_in,
)

__all__ = [
    "ARXIV_ID",
    "BY_TYPE",
    "arxiv_id_in",
    "arxiv_id_of",
    "identifiers",
    "isbn_in",
    "issn_in",
    "number_of",
    "orcid_in",
    "pmcid_in",
    "pmid_in",
]
