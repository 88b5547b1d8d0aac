"""Why a file is taken down: a closed list, which is all a tombstone tells beside the date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

REDACTED = "taken down"
"""Stands on the books where the address, path or detail of what was taken down stood."""


class ReasonClass(StrEnum):
    """The classes; each with the sentence a reader is told."""

    explanation: str

    def __new__(cls, value: str, explanation: str = "") -> ReasonClass:
        """Attach to the name its sentence; `ReasonClass(name)` finds it."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.explanation = explanation
        return member

    COPYRIGHT = "copyright", "whoever holds the rights asked for it"
    PRIVACY = "privacy", "it told of a person what is nobody else's business"
    COURT_ORDER = "court-order", "a court or an authority ordered it"
    HARMFUL = "harmful", "it could harm whoever opens it, or others"
    BY_MISTAKE = "by-mistake", "it should never have been collected"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stands where a file stood that was taken down, and no more: its SHA-1, the class, the time."""

    sha1hex: str
    reason_class: str
    at: datetime


# Why a file is under embargo: a closed list, which is all that is told of it beside the date.


NOTE_MAX_CHARS = 500


class EmbargoReason(StrEnum):
    """The classes."""

    RIGHTS = "rights"
    PRIVACY = "privacy"
    COURT_ORDER = "court-order"
    PUBLICATION = "publication"
    REVIEW = "review"


EXPLAINED: Mapping[EmbargoReason, str] = {
    EmbargoReason.RIGHTS: "whoever holds the rights allows it from then on",
    EmbargoReason.PRIVACY: "it tells of a person who is protected until then",
    EmbargoReason.COURT_ORDER: "a court or an authority ordered it",
    EmbargoReason.PUBLICATION: "it is to appear elsewhere first",
    EmbargoReason.REVIEW: "it is being looked at",
}
"""The sentence a reader is told of each."""
