"""A task: what somebody says of a file that is to be read: where its bytes lie, and which they are."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from fonds.model.capture import PlaceKind, parse_datetime14
from fonds.model.entry import MESSAGE, Entry
from fonds.model.record_offset import record_place

ITEM_ADDRESS = "https://archive.org/download/{item}/{path}"
"""The public address of a petabox item's file; where its bytes are fetched is a setting."""


@dataclass(frozen=True, slots=True)
class Task:
    """One work object of seed 003, understood and not yet followed: nothing it names is trusted.

    `kind` says which of its fields name the place: a record of a WARC (`path`, `offset`, `size_bytes`
    in bytes, None where unknown), a capture a web archive replays (`url`, `datetime14`), a file of a
    petabox item (`item`, `path`), or a file of this machine (`path`). `sha1hex` is the file's where it is
    stated, `mime` the declared type. `id` is that of the message it came in, '' for a line of a list.
    """

    kind: PlaceKind
    path: str = ""
    offset: int = 0
    size_bytes: int | None = None
    item: str = ""
    url: str = ""
    datetime14: str | None = None
    sha1hex: str | None = None
    mime: str | None = None
    collection: str = "default"
    id: str = ""

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex; '' where it is not stated."""
        return self.sha1hex or ""

    @property
    def address(self) -> str:
        """What people call it: its URL, else the public address of its item, else its path."""
        if self.url or self.kind is not PlaceKind.PETABOX:
            return self.url or self.path
        return ITEM_ADDRESS.format(item=quote(self.item), path=quote(self.path))

    @property
    def entry(self) -> Entry:
        """What its message enters as."""
        return Entry(
            id=self.id,
            input_id="",
            kind=MESSAGE,
            url=self.address,
            item=self,
            collection=self.collection,
            seen_at=parse_datetime14(self.datetime14) if self.datetime14 else None,
            place=self.place,
        )

    @property
    def place(self) -> str:
        """Where its bytes lie, as it says."""
        return {
            PlaceKind.WARC: record_place(self.path, self.offset),
            PlaceKind.REPLAY: f"{self.datetime14}/{self.url}",
            PlaceKind.PETABOX: f"{self.item}/{self.path}",
        }.get(self.kind, self.path)
