"""The lines of each entry of a list of references become one: hyphens undone, addresses whole.

Bound: linear in the lines; 5,000 entries of 4,000 characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fonds.bibliography.identifiers.doi import DOI_PREFIX

ENTRIES_MAX, ENTRY_MAX_CHARS = 5_000, 4_000
_IN_ADDRESS = re.compile(
    r"(?:https?:|https?://\S*|www\.\S*|doi:\s?\S*|\b10\.\d*|\b"
    + DOI_PREFIX
    + r"\S*|\bdoi\.org\S*)$",
    re.IGNORECASE,
)
_HYPHEN = re.compile(r"(?<=[a-z])[-\u2010\u00ad]$")


def joined(entries: Sequence[Sequence[str]]) -> list[str]:
    """Each entry on one line; what has no words in it is none."""
    found = []
    for lines in entries[:ENTRIES_MAX]:
        whole = ""
        for line in lines:
            whole = _with_next(whole, line.strip())
        whole = whole[:ENTRY_MAX_CHARS].strip()
        if sum(map(str.isalpha, whole)) >= 3:
            found.append(whole)
    return found


def _with_next(whole: str, line: str) -> str:
    if not whole:
        return line
    if _HYPHEN.search(whole) and line[:1].islower():
        return whole[:-1] + line
    if whole[-1] in "-\u2010\u2013/" and line[:1].isdigit():
        return whole + line
    if _IN_ADDRESS.search(whole[-150:]) and _goes_on(whole, line):
        return whole + line
    return f"{whole} {line}"


def _goes_on(whole: str, line: str) -> bool:
    """Whether an address that fills a line is continued on the next."""
    return (
        whole[-1] in "/:-_=?&%#"
        or line.startswith(("//", "/"))
        or (whole[-1] == "." and (line[:1].isdigit() or line[:1].islower()))
    )
