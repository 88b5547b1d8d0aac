"""One TEI document from bytes to all that is kept of it; to be run in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fonds.bibliography.paper import Paper, biblio, metadata, to_json
from fonds.bibliography.quality import quality
from fonds.bibliography.tei import read_tei
from fonds.model.open_body import OpenBody


@dataclass(frozen=True, slots=True)
class BibliographyReading:
    """What is kept: `whole` is the JSON of the paper, `metadata` the same without full text, `row` what
    stands in its row. `error` None: it was read."""

    whole: bytes = b""
    metadata: bytes = b""
    row: Mapping[str, Any] = field(default_factory=dict)
    quality: str = ""
    version: str = ""
    fatcat_release: str | None = None
    error: str | None = None


def read_tei_body(body: OpenBody) -> BibliographyReading:
    """The reading of a body in an open file. Raises TransientError when that cannot be read."""
    return read_tei_bytes(body.whole("the TEI"))


def read_tei_bytes(data: bytes) -> BibliographyReading:
    """All that is kept of a TEI document, or what is the matter with it."""
    try:
        paper = read_tei(data)
    except ValueError as error:
        return BibliographyReading(error=str(error))
    return reading_of(paper)


def reading_of(paper: Paper) -> BibliographyReading:
    """All that is kept of a paper."""
    return BibliographyReading(
        whole=to_json(paper),
        metadata=to_json(metadata(paper)),
        row=biblio(paper),
        quality=str(quality(paper)),
        version=paper.grobid_version,
        fatcat_release=paper.fatcat_release,
    )
