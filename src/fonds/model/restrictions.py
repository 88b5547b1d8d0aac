"""Reasons for takedowns and embargoes, and tombstones.

The reasons are closed lists. Readers see only the reason and the date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

REDACTED = "taken down"
"""Replaces address, path and detail of removed files in the ledger."""


class ReasonClass(StrEnum):
    """Reasons for a takedown, each with the sentence shown to readers."""

    explanation: str

    def __new__(cls, value: str, explanation: str = "") -> ReasonClass:
        """Create a reason with its sentence."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.explanation = explanation
        return member

    COPYRIGHT = "copyright", "the rights holder asked for its removal"
    PRIVACY = "privacy", "it contains private information about a person"
    COURT_ORDER = "court-order", "a court or an authority ordered its removal"
    HARMFUL = "harmful", "it could harm its readers or others"
    BY_MISTAKE = "by-mistake", "it was collected by mistake"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Public record of a removed file: its SHA-1, the reason and the time; nothing else."""

    sha1hex: str
    reason_class: str
    at: datetime


NOTE_MAX_CHARS = 500


class EmbargoReason(StrEnum):
    """Reasons for an embargo."""

    RIGHTS = "rights"
    PRIVACY = "privacy"
    COURT_ORDER = "court-order"
    PUBLICATION = "publication"
    REVIEW = "review"


EMBARGO_EXPLANATIONS: Mapping[EmbargoReason, str] = {
    EmbargoReason.RIGHTS: "the rights holder permits access from that date",
    EmbargoReason.PRIVACY: "it concerns a person who is protected until that date",
    EmbargoReason.COURT_ORDER: "a court or an authority ordered it",
    EmbargoReason.PUBLICATION: "it will be published elsewhere first",
    EmbargoReason.REVIEW: "it is under review",
}
"""Sentence shown to readers for each reason."""


class TakedownRest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Work left of a takedown: ids of documents to purge, and names of our WARCs to rewrite."""

    documents: tuple[str, ...] = ()
    warcs: tuple[str, ...] = ()
