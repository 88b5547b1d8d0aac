"""Tasks: requests to read a file, with the location of its bytes and their SHA-1."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from fonds.model.capture import PlaceKind, parse_datetime14
from fonds.model.entry import MESSAGE, Entry
from fonds.model.record_offset import format_record_place

ITEM_ADDRESS = "https://archive.org/download/{item}/{path}"
"""Public address of a petabox item's file; a setting decides where its bytes are fetched."""


@dataclass(frozen=True, slots=True)
class Task:
    """Work object of seed 003, parsed but not executed: none of its values is trusted.

    - `kind`: which fields give the location: a WARC record (`path`, `offset`, `size_bytes` in
      bytes, None if unknown), a capture replayed by a web archive (`url`, `datetime14`), a file of
      a petabox item (`item`, `path`), or a file on this machine (`path`).
    - `sha1hex`: SHA-1 of the file, if stated.
    - `mime`: declared type.
    - `id`: id of its message, "" for a line of a list.
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
        """The file's SHA-1 in hex; "" if not stated."""
        return self.sha1hex or ""

    @property
    def address(self) -> str:
        """Name for people: its URL, else the public address of its item, else its path."""
        if self.url or self.kind is not PlaceKind.PETABOX:
            return self.url or self.path
        return ITEM_ADDRESS.format(item=quote(self.item), path=quote(self.path))

    @property
    def entry(self) -> Entry:
        """Entry for the message that contains the task."""
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
        """Location of the bytes as text, as stated in the task."""
        return {
            PlaceKind.WARC: format_record_place(self.path, self.offset),
            PlaceKind.REPLAY: f"{self.datetime14}/{self.url}",
            PlaceKind.PETABOX: f"{self.item}/{self.path}",
        }.get(self.kind, self.path)
