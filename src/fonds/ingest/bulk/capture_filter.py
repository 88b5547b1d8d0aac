"""Filter for a backfill: which CDX lines are accepted, and the reason for refusing a line.

The filter `papers` recognises URLs of scholarly papers by their SURT only. It uses heuristics that
are common for selecting papers from whole crawls: personal pages at universities (`~`), words in
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
"""SURT of a personal page at a university: the last or the last but one label of the host is `edu`
or `ac`, and the path begins with `~`.
"""
_PATH_WORD = re.compile(
    r"/(?:pubs?|research|publications?|articles?|proceedings?|papers?|full-?text)(?:/|$|\?)"
)
_HOST_WORD = re.compile(
    r"eprint|dspace|scielo|redalyc|revues|revistas|research|journal|(?:^|,)(?:hal|ojs)(?:,|-|$)"
)
"""Words in the hosts of publishers and repositories. `hal` and `ojs` must be whole labels or whole
words between hyphens.
"""


def is_paper(surt: str) -> bool:
    """Return whether a SURT (URL with reversed host) looks like that of a scholarly paper,
    ignoring case.
    """
    folded_surt = surt.lower()
    host, _, path = folded_surt.partition(")")
    return bool(
        _UNIVERSITY_MEMBER.match(folded_surt)
        or _HOST_WORD.search(host)
        or _PATH_WORD.search(path)
        or is_doi_prefix(path)
    )


FILTERS: Mapping[str, Callable[[str], bool]] = {"papers": is_paper}
"""Filters of CDX lines by name, the value of the option `--filter` of `fonds backfill cdx`. A
filter returns whether the SURT of a line is accepted.
"""


ACCEPTED_STATUSES = (200, 203, 226)
PDF_MIME = "application/pdf"
MIME_CACHE_SIZE = 4096

normalize_mime_cached = lru_cache(MIME_CACHE_SIZE)(normalize_mime)


@dataclass(frozen=True, slots=True)
class CaptureFilter:
    """Conditions for accepting the capture of a CDX line.

    - `mimes`: accepted media types, normalised.
    - `filter`: a name in `FILTERS`, or '' to accept every SURT.
    """

    mimes: frozenset[str] = frozenset({PDF_MIME})
    filter: str = ""


def find_refusal_reason(
    line: CdxLine | RejectedLine | None, capture_filter: CaptureFilter
) -> Reason | None:
    """Return the first reason to refuse a CDX line, or None for an accepted line.

    - Headers, comments and blank lines are no captures.
    - A line that cannot be parsed is refused as a bad index line.
    - A line without a SHA-1 is refused, because the SHA-1 is the key of a file.
    - A response with a status other than 200, 203 or 226 is refused. An FTP transfer has no status
      and is not refused for that.
    - A media type outside `capture_filter.mimes` is refused.
    - A SURT that the filter named by `capture_filter.filter` does not accept is refused.
    - A revisit is not checked for status and media type, since its line does not state those of the
      original response.
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
