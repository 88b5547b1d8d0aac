"""Notes of a poll: response and counts, stored as JSON in the column `fingerprint` of the poll's
row in `inputs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import msgspec

from fonds.model.encoding import prepare_type
from fonds.model.rows import InputRow
from fonds.model.source import BackfillState


@dataclass(frozen=True, slots=True)
class BackfillPoll:
    """Result of one poll of a backfill, in the form in which the notes of the poll store it.

    - `pages`: URLs of the pages read.
    - `marks`: hashes of the URLs of these pages and of their redirect targets.
    - `unread`: number of pages that could not be read.
    - `sitemaps`: number of sitemaps skipped because they last changed before the requested dates.
    - `outside`: number of entries with other dates than requested.
    - `undated`: number of entries omitted because they have no date.
    - `earliest`: earliest date of any entry; None if no entry has a date.
    - `at`: URL of the page at which the next poll continues; "" for none.
    - `state`: state of the backfill after the poll.
    - `why`: sentence that says why the backfill ended; "" while it goes on.
    - `trouble`: error of the poll, after which the backfill goes on; "" for none.
    - `wait_s`: minimum seconds before the next poll.
    """

    pages: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    unread: int = 0
    sitemaps: int = 0
    outside: int = 0
    undated: int = 0
    earliest: date | None = None
    at: str = ""
    state: BackfillState = BackfillState.RUNNING
    why: str = ""
    trouble: str = ""
    wait_s: float = 0.0


class PollNotes(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Notes of a poll about the response and its links. Default values are omitted from the JSON.

    - `status`: HTTP status; None without a response.
    - `bytes`: size of the response body.
    - `kind`: format of the listing, such as `rss`.
    - `listed`: number of entries in the listing.
    - `known`: number of links that occur twice in the listing, or were entered before.
    - `refused`: number of links that the link rules refused.
    - `backfill`: result of a poll that belongs to a backfill; otherwise None.
    - `cut`: number of entries beyond the limit of a listing.
    - `problem`: description of parts that could not be read; "" if all was read.
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
    """Encode notes of a poll as JSON for the column `fingerprint` of its row in `inputs`."""
    return msgspec.json.encode(notes).decode()


def parse_poll_notes(row: InputRow) -> PollNotes:
    """Return the notes of a poll from its row in `inputs`; notes with default values if the row has
    no valid notes.
    """
    try:
        return msgspec.json.decode(row.fingerprint, type=prepare_type(PollNotes))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return PollNotes()
