"""Which lines of an index are captures of files the table is for, and why the others are not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fonds.bulk.captures.papers import FILTERS
from fonds.extract.mime import normalize_mime
from fonds.formats.cdx import CdxLine, Rejected
from fonds.model.capture import REVISIT_MIME
from fonds.model.disposition import Reason

KEPT_STATUSES = (200, 203, 226)
PDF_MIME = "application/pdf"
MIMES_REMEMBERED = 4096

normalized = lru_cache(MIMES_REMEMBERED)(normalize_mime)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is taken out of indexes: types as they are normalised, and the name of a filter or ""."""

    mimes: frozenset[str] = frozenset({PDF_MIME})
    filter: str = ""


def decide(line: CdxLine | Rejected | None, wanted: Wanted) -> Reason | None:
    """Why a line is refused, by the first of these that holds; None for one that is kept.

    Headers, comments and blank lines are no captures; a line that cannot be read is refused as such; one
    without a SHA-1 has no key. A revisit is kept whatever it is of, for it says nothing of it. An answer of
    another status than 200, 203 or 226 is no file; a transfer by FTP has none and is one.
    """
    if not isinstance(line, CdxLine):
        return Reason.NOT_A_CAPTURE if line is None else Reason.BAD_INDEX_LINE
    if line.digest is None:
        return Reason.NO_DIGEST
    if line.mime != REVISIT_MIME:
        if line.status not in KEPT_STATUSES and not _is_ftp(line):
            return Reason.HTTP_STATUS
        if normalized(line.mime) not in wanted.mimes:
            return Reason.UNSUPPORTED_TYPE
    if wanted.filter and not FILTERS[wanted.filter](line.surt):
        return Reason.NOT_WANTED
    return None


def _is_ftp(line: CdxLine) -> bool:
    return line.status is None and line.url[:6].lower() in ("ftp://", "ftps:/")
