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

    COPYRIGHT = "copyright", "whoever holds the rights asked for it"
    PRIVACY = "privacy", "it told of a person what is nobody else's business"
    COURT_ORDER = "court-order", "a court or an authority ordered it"
    HARMFUL = "harmful", "it could harm whoever opens it, or others"
    BY_MISTAKE = "by-mistake", "it should never have been collected"


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


EXPLAINED: Mapping[EmbargoReason, str] = {
    EmbargoReason.RIGHTS: "whoever holds the rights allows it from then on",
    EmbargoReason.PRIVACY: "it tells of a person who is protected until then",
    EmbargoReason.COURT_ORDER: "a court or an authority ordered it",
    EmbargoReason.PUBLICATION: "it is to appear elsewhere first",
    EmbargoReason.REVIEW: "it is being looked at",
}
"""Sentence shown to readers for each reason."""


class TakedownRest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Work left of a takedown: ids of documents to purge, and names of our WARCs to rewrite."""

    documents: tuple[str, ...] = ()
    warcs: tuple[str, ...] = ()
