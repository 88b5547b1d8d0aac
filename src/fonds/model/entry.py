"""An entry: whatever came in and must be accounted for; a capture is one kind, a link another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fonds.model.capture import Capture, to_datetime14
from fonds.model.rows import EntryRow

CAPTURE, LINK, MESSAGE = "capture", "link", "message"
"""Kinds of entries: what a source found, what it named, and what somebody else put on a public topic."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing a source found, and the first message made of it.

    `id` is the same whenever the same thing is found again. `input_id` names the input it was found in.
    `kind` says what it is (`capture`, `link`, `document`), `url` what people call it. `item` is the payload
    of its message, of the type the pipeline's entry topic carries. `seen_at` (aware UTC) and `place` are
    None for what was not seen at a time or lies nowhere.
    """

    id: str
    input_id: str
    kind: str
    url: str
    item: object
    collection: str = "default"
    seen_at: datetime | None = None
    place: str | None = None

    @property
    def seen(self) -> str | None:
        """`seen_at` as YYYYMMDDhhmmss in UTC."""
        return to_datetime14(self.seen_at) if self.seen_at else None

    def row(self, pipeline: str, entered_at: datetime) -> EntryRow:
        """The entry as it goes onto the books of a pipeline."""
        return EntryRow(
            entry_id=self.id,
            pipeline=pipeline,
            kind=self.kind,
            input_id=self.input_id,
            url=self.url,
            seen=self.seen,
            place=self.place,
            collection=self.collection,
            entered_at=entered_at,
        )


def of_capture(capture: Capture) -> Entry:
    """The entry of a capture."""
    return Entry(
        id=capture.id,
        input_id=capture.input_id,
        kind=CAPTURE,
        url=capture.url,
        item=capture,
        collection=capture.collection,
        seen_at=capture.captured_at,
        place=str(capture.place),
    )
