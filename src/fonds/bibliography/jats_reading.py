"""One JATS article from bytes to all that is kept of it; to be run in a child process."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.bibliography.jats import jats_root, paper_of
from fonds.bibliography.jats_rights import article_rights
from fonds.bibliography.tei_reading import BibliographyReading, reading_of
from fonds.model.disposition import DONE, Disposition, Reason, ending
from fonds.model.open_body import OpenBody
from fonds.model.rights import Statement


@dataclass(frozen=True, slots=True)
class JatsReading:
    """`text` is what is searched: abstract, body, what stands behind it; `date` as exact as told.
    `rights` are what the article states about its use. One that cannot be read has a `reason`, and an error
    in what is kept."""

    kept: BibliographyReading
    text: str = ""
    date: str | None = None
    language: str | None = None
    rights: tuple[Statement, ...] = ()
    reason: Reason | None = None

    @property
    def disposition(self) -> Disposition:
        """How reading it ended."""
        return ending(self.reason, self.kept.error or "") if self.reason else DONE


def read_jats_body(body: OpenBody) -> JatsReading:
    """The reading of a body in an open file. Raises TransientError when that cannot be read."""
    return read_jats_bytes(body.whole("the article"))


def read_jats_bytes(data: bytes) -> JatsReading:
    """All that is kept of an article, or what is the matter with it."""
    try:
        root = jats_root(data)
        paper = paper_of(root)
    except ValueError as error:
        return JatsReading(BibliographyReading(error=str(error)), reason=Reason.BROKEN_ARTICLE)
    parts = (paper.abstract, paper.body, paper.acknowledgement, paper.annex)
    return JatsReading(
        reading_of(paper),
        text="\n\n".join(part for part in parts if part),
        date=paper.date,
        language=paper.language_code,
        rights=article_rights(root),
    )
