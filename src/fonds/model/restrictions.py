"""Reasons for takedowns and embargoes, and tombstones (public records of removed files).

The reasons are closed lists. Readers see only the reason and the date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

REDACTED = "taken down"
"""Text that replaces the URL, path and failure details of removed files in the accounting tables.
"""


class ReasonClass(StrEnum):
    """Published reasons for a takedown, each with an explanation shown to readers."""

    explanation: str

    def __new__(cls, value: str, explanation: str = "") -> ReasonClass:
        """Create a published reason for a takedown, with the explanation shown to readers."""
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
    """Public record of a removed file.

    - `sha1hex`: SHA-1 of the file in hex.
    - `reason_class`: published reason of the removal.
    - `at`: time of the removal.
    """

    sha1hex: str
    reason_class: str
    at: datetime


NOTE_MAX_CHARS = 500


class EmbargoReason(StrEnum):
    """Published reasons for an embargo, a period in which readers cannot see a file."""

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
"""Explanation shown to readers for each embargo reason."""


class TakedownRest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Work that remains to be done for the takedown (removal) of a file.

    - `documents`: ids of documents to remove from the index.
    - `warcs`: names of WARC files, written by Fonds, from which to purge records.
    - `purge`: whether the bytes of the deleted data must be purged from the stores. That is the last
      work.
    """

    documents: tuple[str, ...] = ()
    warcs: tuple[str, ...] = ()
    purge: bool = False


class ListedTakedown(msgspec.Struct, frozen=True):
    """Line of the list of takedowns outside the library. The fields have the meaning of those of
    TakedownRow.
    """

    sha1hex: str
    reason_class: ReasonClass
    note: str
    made_by: str
    row_created: datetime
