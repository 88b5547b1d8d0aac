"""Links as people name them: addresses on the command line, or lists with one address a line.

Bound: linear in the list, some hundred bytes of memory an address; a line is read up to 64 KiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha1
from pathlib import Path
from typing import BinaryIO

from fonds.crawl.links import link_to
from fonds.model.disposition import Reason
from fonds.model.entry import Entry
from fonds.model.errors import ConfigurationError
from fonds.model.link import TlsCheck, of_link
from fonds.model.rows import InputRow
from fonds.model.rss_entry import RssEntry

LINKS = "links"
LINE_MAX_BYTES = 64 * 1024
MARK_EVERY = 200
LINKS_MAX = 5_000_000
"""How many addresses one list may name: their ids are in memory, so that none is taken for two."""


@dataclass(frozen=True, slots=True)
class NamedLinks:
    """Addresses a person names now: `asked_at` (aware UTC) tells this time from all others, so that they are
    fetched whatever was fetched before.
    """

    urls: Sequence[str]
    collection: str
    asked_at: datetime
    tls: TlsCheck = TlsCheck.FULL
    via: str = "the command line"

    def inputs(self) -> Iterator[InputRow]:
        """One input for all of them."""
        if self.urls:
            told = f"{self.asked_at.isoformat()}\n" + "\n".join(self.urls)
            yield _input(self.via, told, self.asked_at)

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """A link for each address; one that is named again is counted."""
        named = ((number, url) for number, url in enumerate(self.urls, 1))
        yield from _links(
            named, row, RssEntry(via=self.via), self.collection, self.asked_at, self.tls
        )


@dataclass(frozen=True, slots=True)
class ListedLinks:
    """A file with one address a line; empty lines and those that begin with `#` are passed over.

    The same file is one input, and is gone on with where it was left; `again` (a time) makes it a new one.
    """

    path: Path
    collection: str
    now: datetime
    again: bool = False
    tls: TlsCheck = TlsCheck.FULL

    def inputs(self) -> Iterator[InputRow]:
        """The file. Raises ConfigurationError when it is none that can be read."""
        try:
            status = self.path.stat()
            with self.path.open("rb"):
                pass
        except (OSError, ValueError) as error:
            told = getattr(error, "strerror", None) or error
            raise ConfigurationError(f"{self.path}: {told}") from error
        told = f"{self.path}\n{status.st_size}:{status.st_mtime_ns}"
        yield _input(str(self.path), told + (self.now.isoformat() if self.again else ""), self.now)

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """A link for each line from `row.position` on, which is in bytes; one named again is counted.

        What stands before that is read too: an address is named again wherever it was named first.
        """
        with self.path.open("rb") as stream:
            found = RssEntry(via=str(self.path))
            yield from _links(_lines(stream), row, found, self.collection, self.now, self.tls)


def _lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Addresses, each with where its line ends."""
    while line := stream.readline(LINE_MAX_BYTES):
        url = line.decode("utf-8-sig", "replace").strip()
        if not url.startswith("#"):
            yield stream.tell(), url


def _links(
    named: Iterator[tuple[int, str]],
    row: InputRow,
    found: RssEntry,
    collection: str,
    now: datetime,
    tls: TlsCheck,
) -> Iterator[Entry | Mapping[str, int] | int]:
    """Links beyond the position of the row. Raises ConfigurationError for too long a list."""
    found = replace(found, fetch_date=now.date().isoformat())
    seen: set[str] = set()
    for number, (position, url) in enumerate(named, 1):
        if not url:
            continue
        link = link_to(url, row.input_id, found, collection=collection, found_at=now, tls=tls)
        is_new = link.id not in seen
        seen.add(link.id)
        if len(seen) > LINKS_MAX:
            raise ConfigurationError(
                f"{row.path} names more than {LINKS_MAX:,} addresses; split it"
            )
        if position > row.position:
            yield of_link(link) if is_new else {str(Reason.REPEATED): 1}
            if number % MARK_EVERY == 0:
                yield position


def _input(path: str, told: str, now: datetime) -> InputRow:
    digest = sha1(told.encode("utf-8", "surrogateescape"))  # noqa: S324 (a key, not a seal)
    return InputRow(
        input_id=digest.hexdigest()[:16],
        path=path,
        kind=LINKS,
        fingerprint=digest.hexdigest(),
        position=0,
        entries=0,
        tally={},
        tally_count=0,
        finished=False,
        error=None,
        updated=now,
    )
