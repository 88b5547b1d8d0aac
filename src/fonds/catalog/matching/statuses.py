"""Reasons for the status of a match: a closed list."""

from __future__ import annotations

from enum import StrEnum


class MatchReason(StrEnum):
    """What a status is by; closed."""

    DOI = "doi"
    IDENTIFIER = "identifier"
    DOI_AND_AUTHOR = "doi-and-author"
    TITLE_AND_AUTHOR = "title-and-author"
    TITLE_AND_NUMBERS = "title-and-numbers"
    NUMBERS = "author-and-numbers"
    LONG_TITLE = "long-title"
    OTHER_TITLE = "doi-of-another-title"
    OTHER_DOI = "another-doi"
    SIMILAR = "similar"
    SEVERAL = "several-alike"
    TOO_COMMON = "too-common"
    DISAGREE = "candidates-disagree"
    NO_CANDIDATE = "no-candidate"
    NOTHING_SOUGHT = "nothing-sought"
    NO_BIBLIOGRAPHY = "no-bibliography"
