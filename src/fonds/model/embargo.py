"""Why a file is under embargo: a closed list, which is all that is told of it beside the date."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

NOTE_CHARACTERS_MAX = 500


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
