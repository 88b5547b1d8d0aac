"""How surely a work was found and by what, each a closed list, and the name of the rules that say so."""

from __future__ import annotations

from enum import StrEnum

VERSION = "fonds-match/1"
"""Names these rules. Another name when they change: then `fonds catchup match` judges anew."""


class MatchStatus(StrEnum):
    """How surely a work was found; closed."""

    EXACT = "exact"
    STRONG = "strong"
    WEAK = "weak"
    AMBIGUOUS = "ambiguous"
    NONE = "none"


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
