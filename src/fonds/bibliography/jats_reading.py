"""One JATS article from bytes to all that is kept of it; to be run in a child process."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fonds.bibliography.jats import read_jats
from fonds.bibliography.paper import biblio, metadata, to_json
from fonds.bibliography.quality import quality
from fonds.bibliography.tei_reading import BibliographyReading
from fonds.model.errors import TransientError
from fonds.model.open_body import OpenBody


@dataclass(frozen=True, slots=True)
class JatsReading:
    """`text` is what is searched: abstract, body, what stands behind it; `date` as exact as told."""

    kept: BibliographyReading
    text: str = ""
    date: str | None = None
    language: str | None = None


def read_jats_body(body: OpenBody) -> JatsReading:
    """The reading of a body in an open file. Raises TransientError when that cannot be read."""
    try:
        data = os.pread(body.descriptor, body.size_bytes, 0)
    except OSError as error:
        raise TransientError(f"the article cannot be read here: {error.strerror}") from error
    return read_jats_bytes(data)


def read_jats_bytes(data: bytes) -> JatsReading:
    """All that is kept of an article, or what is the matter with it."""
    try:
        paper = read_jats(data)
    except ValueError as error:
        return JatsReading(BibliographyReading(error=str(error)))
    parts = (paper.abstract, paper.body, paper.acknowledgement, paper.annex)
    return JatsReading(
        BibliographyReading(
            whole=to_json(paper),
            metadata=to_json(metadata(paper)),
            row=biblio(paper),
            quality=str(quality(paper)),
            version=paper.grobid_version,
        ),
        text="\n\n".join(part for part in parts if part),
        date=paper.date,
        language=paper.language_code,
    )
