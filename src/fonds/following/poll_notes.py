"""Notes of a poll: what it saw, stored as JSON in the row of its input (`fingerprint`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import msgspec

from fonds.model.encoding import prepare_type
from fonds.model.rows import InputRow
from fonds.model.source import BackfillState


@dataclass(frozen=True, slots=True)
class BackfillPoll:
    """Result of one poll of a backfill, as stored in the poll's notes.

    `marks` are hashes of the URLs of `pages` and of their redirect targets. `wait_s` is the minimum
    delay before the next poll. The other fields are as in `Backfill`.
    """

    pages: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    unread: int = 0
    sitemaps: int = 0
    outside: int = 0
    undated: int = 0
    earliest: date | None = None
    at: str = ""
    state: BackfillState = BackfillState.GOING_ON
    why: str = ""
    trouble: str = ""
    wait_s: float = 0.0


class PollNotes(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a poll saw. Missing fields are None or empty, and not in the JSON.

    - `status`, `bytes`, `kind`: the response and the format of its listing.
    - `listed`, `known`, `refused`: entries of the listing, known links and refused links.
    - `backfill`: result of a poll that belongs to a backfill.
    - `cut`: entries beyond the limit. `problem`: what could not be read.
    """

    status: int | None = None
    bytes: int | None = None
    kind: str | None = None
    listed: int | None = None
    known: int | None = None
    refused: int | None = None
    backfill: BackfillPoll | None = None
    cut: int = 0
    problem: str = ""


def encode_poll_notes(notes: PollNotes) -> str:
    """Encode notes for the row of a poll."""
    return msgspec.json.encode(notes).decode()


def parse_poll_notes(row: InputRow) -> PollNotes:
    """Return the notes of a poll; empty for a row that has none."""
    try:
        return msgspec.json.decode(row.fingerprint, type=prepare_type(PollNotes))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return PollNotes()
