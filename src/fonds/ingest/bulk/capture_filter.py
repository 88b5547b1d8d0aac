"""Which index lines a backfill accepts, and why the others are refused.

The filter `papers` recognises URLs that look like scholarly papers, by SURT only. It uses
heuristics common for cutting paper crawls out of whole crawls: home pages at universities, words in
paths, words in hosts, and DOI prefixes in paths.
"""

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

_UNIVERSITY_MEMBER = re.compile(r"(?:[a-z0-9-]+,)?(?:edu|ac),[^)]*\)(?::[0-9]+)?/(?:~|%7e)")
"""`edu` or `ac` is the first or second label from the top, and the path begins with a person's `~`.
"""
_PATH_WORD = re.compile(
    r"/(?:pubs?|research|publications?|articles?|proceedings?|papers?|full-?text)(?:/|$|\?)"
)
_HOST_WORD = re.compile(
    r"eprint|dspace|scielo|redalyc|revues|revistas|research|journal|(?:^|,)(?:hal|ojs)(?:,|-|$)"
)
"""Short words count only as whole parts of a name."""


def is_paper(surt: str) -> bool:
    """Return whether a SURT looks like that of a paper, ignoring case."""
    folded = surt.lower()
    host, _, path = folded.partition(")")
    return bool(
        _UNIVERSITY_MEMBER.match(folded)
        or _HOST_WORD.search(host)
        or _PATH_WORD.search(path)
        or is_doi_prefix(path)
    )


FILTERS: Mapping[str, Callable[[str], bool]] = {"papers": is_paper}
"""Values of `--filter`."""


ACCEPTED_STATUSES = (200, 203, 226)
PDF_MIME = "application/pdf"
MIME_CACHE_SIZE = 4096

normalize_mime_cached = lru_cache(MIME_CACHE_SIZE)(normalize_mime)


@dataclass(frozen=True, slots=True)
class CaptureFilter:
    """Which captures are accepted: normalised media types, and the name of a filter or ''."""

    mimes: frozenset[str] = frozenset({PDF_MIME})
    filter: str = ""


def find_refusal_reason(
    line: CdxLine | RejectedLine | None, capture_filter: CaptureFilter
) -> Reason | None:
    """Return the first reason that applies to a line; None for one that is accepted.

    Headers, comments and blank lines are no captures. Unreadable lines are refused as such. A line
    without a SHA-1 has no key. A revisit is accepted whatever its original, since its line does not
    describe it. Responses with a status other than 200, 203 or 226 are no files; FTP transfers have
    no status and are accepted.
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
