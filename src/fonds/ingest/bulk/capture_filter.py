"""Which lines of an index are captures of files the table is for, and why the others are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from fonds.archive.cdx import CdxLine, RejectedLine
from fonds.extract.mime import normalize_mime
from fonds.model.capture import REVISIT_MIME
from fonds.model.disposition import Reason
from fonds.papers.bibliography.identifiers import is_doi_prefix

# The filter `papers`: which addresses look like those of scholarly papers, by the SURT alone.
#
# Source: the heuristics by which crawls of papers have been cut out of whole crawls in this field: members'
# pages of universities, words of paths, words of hosts, and DOI prefixes in paths.


_UNIVERSITY_MEMBER = re.compile(r"(?:[a-z0-9-]+,)?(?:edu|ac),[^)]*\)(?::[0-9]+)?/(?:~|%7e)")
"""`edu` or `ac` is the top of the name or just below it, and the path begins with a person's `~`."""
_PATH_WORD = re.compile(
    r"/(?:pubs?|research|publications?|articles?|proceedings?|papers?|full-?text)(?:/|$|\?)"
)
_HOST_WORD = re.compile(
    r"eprint|dspace|scielo|redalyc|revues|revistas|research|journal|(?:^|,)(?:hal|ojs)(?:,|-|$)"
)
"""Short words count as whole parts of a name alone."""


def is_paper(surt: str) -> bool:
    """Whether a capture's SURT looks like that of a paper, in any case of letters."""
    folded = surt.lower()
    host, _, path = folded.partition(")")
    return bool(
        _UNIVERSITY_MEMBER.match(folded)
        or _HOST_WORD.search(host)
        or _PATH_WORD.search(path)
        or is_doi_prefix(path)
    )


FILTERS: Mapping[str, Callable[[str], bool]] = {"papers": is_paper}
"""What `--filter` may name."""


ACCEPTED_STATUSES = (200, 203, 226)
PDF_MIME = "application/pdf"
MIMES_REMEMBERED = 4096

normalize_mime_cached = lru_cache(MIMES_REMEMBERED)(normalize_mime)


@dataclass(frozen=True, slots=True)
class CaptureFilter:
    """What is taken out of indexes: types as they are normalised, and the name of a filter or ""."""

    mimes: frozenset[str] = frozenset({PDF_MIME})
    filter: str = ""


def find_refusal_reason(
    line: CdxLine | RejectedLine | None, capture_filter: CaptureFilter
) -> Reason | None:
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
        if line.status not in ACCEPTED_STATUSES and not _is_ftp(line):
            return Reason.HTTP_STATUS
        if normalize_mime_cached(line.mime) not in capture_filter.mimes:
            return Reason.UNSUPPORTED_TYPE
    if capture_filter.filter and not FILTERS[capture_filter.filter](line.surt):
        return Reason.NOT_WANTED
    return None


def _is_ftp(line: CdxLine) -> bool:
    return line.status is None and line.url[:6].lower() in ("ftp://", "ftps:/")
