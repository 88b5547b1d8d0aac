"""Split names of persons into family name, given name, particle and suffix.

Source: the name variables of CSL 1.0.2; BibTeX's btxdoc, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

PARTICLES = frozenset(
    (
        "van",
        "von",
        "de",
        "der",
        "den",
        "del",
        "della",
        "di",
        "da",
        "dos",
        "du",
        "la",
        "le",
        "el",
        "al",
    )
)
_EXTENDED_PARTICLES = PARTICLES | {"af", "av", "do", "das", "ten", "ter", "zu", "zum", "zur", "vom"}
_SUFFIX = re.compile(r"(?:jr|sr)\.?|II|III|IV", re.IGNORECASE)
_DEGREE = re.compile(r"(?:ph\.? ?d|m\.? ?d|m\.? ?sc|b\.? ?sc|m\.? ?a|mba|esq)\.?", re.IGNORECASE)
_TITLE = re.compile(r"^(?:dr|prof|professor|mr|mrs|ms)\.?\s+", re.IGNORECASE)
_INITIALS = re.compile(r"[^\W\d_](?:[.-]{0,2}[^\W\d_]){0,2}\.?")
_EAST_ASIAN = re.compile(r"[\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\s]+")
_NOT_A_PERSON = re.compile(
    r"[\d@/&:|()\[\]]|\b(?:the|and|und|et|for|of|with|team|group|staff|desk|editors?|editorial|board|news|press|media"
    r"|agency|reuters|consortium|collaboration|committee|commission|council|university|universit[àäé]t?"
    r"|universidad|universidade|institute?|instituto|college|school|department|ministry|association|society"
    r"|foundation|organi[sz]ation|company|corporation|inc|ltd|llc|gmbh|lab|laboratory|office|bureau|network"
    r"|project|authors?|redaktion|anonymous|admin)\b",
    re.IGNORECASE,
)
_PARTS_MAX = 7


@dataclass(frozen=True, slots=True)
class PersonName:
    """Parts of a person's name.

    A missing part is "". `particle` is a word such as "van" in lower case.
    """

    family: str
    given: str
    particle: str = ""
    suffix: str = ""


def split_name(text: str) -> PersonName | None:
    """Split a name written as `Given Family`, `Family, Given` or `Family GI`.

    Returns None for an organisation, and for a single word, which may be a given or a family name.
    """
    name = " ".join(text.split())
    if not name or _NOT_A_PERSON.search(name) or len(name.split()) > _PARTS_MAX:
        return None
    if _EAST_ASIAN.fullmatch(name):
        return _parse_family_first(name)
    parts = [part.strip() for part in name.split(",") if part.strip()]
    parts = [
        part for number, part in enumerate(parts) if number == 0 or not _DEGREE.fullmatch(part)
    ]
    suffix = next((part for part in parts[1:] if _SUFFIX.fullmatch(part)), "")
    parts = [parts[0], *(part for part in parts[1:] if part != suffix)] if parts else []
    if len(parts) == 2:
        particle, family = _split_particle(parts[0].split())
        return PersonName(family, parts[1], particle, suffix)
    return (
        _parse_reading_order(_TITLE.sub("", parts[0]).split(), suffix) if len(parts) == 1 else None
    )


def find_family_start(parts: Sequence[str], particles: frozenset[str] = PARTICLES) -> int:
    """Return the index of the word in `parts` (words of a name) at which the family name begins.

    The family name ends with the last word. It includes particles such as "van" before that word.
    """
    start = len(parts) - 1
    while start > 1 and parts[start - 1].lower() in particles:
        start -= 1
    return start


def _parse_reading_order(parts: list[str], suffix: str) -> PersonName | None:
    if len(parts) > 2 and not suffix and _SUFFIX.fullmatch(parts[-1]):
        parts, suffix = parts[:-1], parts[-1]
    if len(parts) < 2:
        return None
    if _are_initials(parts[-1]) and not any(map(_are_initials, parts[:-1])):
        particle, family = _split_particle(parts[:-1])
        return PersonName(family, parts[-1], particle, suffix)
    start = find_family_start(parts, _EXTENDED_PARTICLES)
    particle, family = _split_particle(parts[start:])
    return PersonName(family, " ".join(parts[:start]), particle, suffix)


def _are_initials(part: str) -> bool:
    return part.isupper() and bool(_INITIALS.fullmatch(part))


def _split_particle(parts: Sequence[str]) -> tuple[str, str]:
    """Split a family name into particle and rest; a capitalised particle belongs to the name."""
    count = 0
    while count < len(parts) - 1 and parts[count].islower() and parts[count] in _EXTENDED_PARTICLES:
        count += 1
    return " ".join(parts[:count]), " ".join(parts[count:])


def _parse_family_first(name: str) -> PersonName | None:
    family, _, given_name = name.partition(" ")
    return PersonName(family, given_name) if given_name and " " not in given_name else None
