"""Tasks: requests of other programs to read a file, with the location of its bytes and their
SHA-1.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from fonds.model.capture import PlaceKind, parse_datetime14
from fonds.model.entry import MESSAGE, Entry
from fonds.model.record_offset import format_record_place

ITEM_ADDRESS = "https://archive.org/download/{item}/{path}"
"""Template of the public URL of a file in an item of the Internet Archive, for people.

The setting `elsewhere.petabox_url` decides where Fonds fetches the bytes.
"""


@dataclass(frozen=True, slots=True)
class Task:
    """Request to read a file (a work object of seed document 003), parsed but not executed. None of
    its values is trusted.

    - `kind`: type of the location, which decides what fields give it: a WARC record (`path`,
      `offset`, `size_bytes`), a capture replayed by a web archive (`url`, `datetime14`), a file of
      a petabox item (`item`, `path`), or a file on this machine (`path`).
    - `offset`, `size_bytes`: position and compressed size of the WARC record in bytes; None for an
      unknown size.
    - `datetime14`: time of the capture as 14 digits; None if not stated.
    - `sha1hex`: SHA-1 of the file in hex; None if not stated.
    - `mime`: declared media type; None if not stated.
    - `collection`: collection to which the file is added.
    - `id`: id of the message that contains the task; "" for a task from a line of a list.
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
        """Subject of a message with this task: SHA-1 of the file in hex; "" if the task does not
        state it.
        """
        return self.sha1hex or ""

    @property
    def address(self) -> str:
        """Name of the file for people: its URL, else the public URL of its petabox item, else its
        path.
        """
        if self.url or self.kind is not PlaceKind.PETABOX:
            return self.url or self.path
        return ITEM_ADDRESS.format(item=quote(self.item), path=quote(self.path))

    @property
    def entry(self) -> Entry:
        """Entry that records in the ledger that the message with this task entered Fonds."""
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
        """Location of the file's bytes as text, as the task states it."""
        return {
            PlaceKind.WARC: format_record_place(self.path, self.offset),
            PlaceKind.REPLAY: f"{self.datetime14}/{self.url}",
            PlaceKind.PETABOX: f"{self.item}/{self.path}",
        }.get(self.kind, self.path)
