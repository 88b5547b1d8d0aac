"""What table, blobs, index and archive promise, and the stores of a home together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Protocol

from fonds.model.archive import (
    ArchivedRecord,
    ArchiveEntry,
    Blob,
    Payload,
    PurgeResult,
    WarcFileState,
)
from fonds.model.capture import Place
from fonds.model.completion import CompletionList
from fonds.model.document import IndexDocument
from fonds.model.restrictions import Tombstone
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports.queue import TopicQueue
from fonds.ports.records import Ledger, UnfilteredRecords


class Table(Protocol):
    """Wide rows by binary key, in key order (the HBase layout). One version of each cell.

    Columns are `family:qualifier`; families are declared with the table. Writes are upserts by cell.
    Who reads may name the columns, or whole families as `family:`; no other cell is fetched then, and a
    row that has none of them is absent. At most 1,000 may be named; None means all there are.
    """

    def declare(
        self, table: str, families: Sequence[str], *, compressions: Mapping[str, str] | None = None
    ) -> None:
        """Make the table exist; again is harmless, and adds families where the backend can.

        `compressions` names that of families as HBase does; backends without any pass over it. Raises
        ConfigurationError if the table has a family that is not named, or lacks one that cannot be added.
        """

    def list_tables(self) -> dict[str, frozenset[str]]:
        """The tables there are, each with its families."""

    def put(
        self,
        table: str,
        rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
        *,
        where_equal: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Write cells, replacing those of the same row and column; other cells stay. Durable.

        With `where_equal` each row is one cell, and is written only where that has the value told of its key
        as yet, the look and the write at one stroke. Who must know whether it was reads again.

        Raises ConfigurationError for an undeclared table or family, ValueError for a value of `where_equal`
        that is empty.
        """

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """The rows that exist, by key; absent rows are absent."""

    def scan(
        self,
        table: str,
        prefix: bytes = b"",
        *,
        after: bytes | None = None,
        count_max: int = 1000,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Up to `count_max` rows in byte order of keys, with `prefix` and greater than `after`."""

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Remove whole rows, or these cells of each; absent ones are no error. A row without cells is none.

        At most 1,000 columns, each by its whole name. Raises ValueError for more, or for a family.
        """


class Blobs(Protocol):
    """Bytes by key. No rename, no listing on hot paths; a put replaces the whole blob, atomically."""

    def put(self, blobs: Sequence[Blob]) -> None:
        """All durable when it returns; some may be there when it raises.

        Raises ConfigurationError for a key with `..`, an empty part or a NUL.
        """

    def get(self, key: str) -> bytes | None:
        """The blob, or None when there is none."""

    def filter_existing(self, keys: Sequence[str]) -> set[str]:
        """Those of `keys` that exist."""

    def get_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """How many bytes those of `keys` have that exist; nothing is read."""

    def delete(self, keys: Sequence[str]) -> None:
        """Remove blobs; absent ones are no error."""


class Index(Protocol):
    """Full text. A document replaces the one with its `id`."""

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Durable when it returns; searchable at once or after the backend's refresh."""

    def delete(self, ids: Sequence[str]) -> None:
        """Remove documents; absent ones are no error."""

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """The documents that exist, whole, by `id`; without waiting for a refresh."""

    def search(self, query: SearchQuery) -> SearchResults:
        """Raises ValueError with a sentence for people when `query.text` cannot be understood.

        The answer says of which generation the index is: every put, deletion and reindexing makes another.
        A server that is asked for it at most once a second may tell the one of a second before.
        """

    def find_similar_words(self, word: str) -> Sequence[str]:
        """Words of the documents written almost like this folded one, the likeliest first, at most five:
        to be suggested, not to be counted."""

    def count(self) -> int:
        """How many documents there are."""


class QueryCompleter(Protocol):
    """What may come next in a search, as it is typed, out of what an index finds."""

    def complete(self, text: str, cursor: int | None = None) -> CompletionList:
        """The completions at the cursor, in characters from 0; None: at the end. At most ten.

        Raises ValueError for a place outside of the text."""

    def suggest_replacement(self, text: str, cursor: int) -> CompletionList | None:
        """For a search that fails or finds nothing: what may stand in the place of its value at `cursor`,
        whatever was typed there. None where no value stands there, or one that is known."""


class Archive(Protocol):
    """Bodies in WARC files: read from any place, written to files of our own."""

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """The body at `place`, codings undone; with `sha1hex` only if it is those bytes.

        Raises DamagedInputError (`damaged-record` when other bytes lie there now), LimitError, PermanentError
        (`missing-source`, `unreadable-source`: with the path); TransientError when it does not answer."""

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """Append records and make them durable (one fsync a batch); places in the order of `entries`.

        A place in a file of ours has its bare name for a path, wherever the file lies or will lie. A full
        file is finished by the next `write`, when the caller has noted these places. The same `capture_id`
        written again before a crash was noticed may lie there twice; the caller asks `recover` first.
        """

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """Cut from files left open by a killed process what nobody refers to.

        `find_known_end(name)` gives the end in bytes of the last record of that file that was settled, or
        None."""

    def finish(self) -> None:
        """Close the open file: complete, with its CDXJ index beside it. Again is harmless."""


class WarcFiles(Protocol):
    """The files the archive writes, as files: what there is of them, and their bytes."""

    def iter_names(self) -> Iterator[str]:
        """The bare name of every WARC of ours, each once wherever it lies, open ones too; streamed."""

    def open(self, path: str) -> BinaryIO:
        """A WARC to be read and sought in: one of ours by name, another of this machine by its absolute path.
        Raises PermanentError (`missing-source`, `unreadable-source`), a bucket's also while it is read."""

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """What there is of a WARC, by the `path` of a place in it; None when it is gone. No record is read.

        Of files on other machines that are not ours nothing is known. With `repair`, the CDXJ of a finished
        file of ours is first made again from its records, whatever it says.
        """

    def list_unsent(self) -> Mapping[str, int]:
        """Finished WARCs of ours that are here alone and are to be moved on: bytes by name, with indexes.
        Empty where they stay where they are written."""

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """Replace the records of a file in a WARC of ours, and what stands beside them, by tombstones of
        the same length: all other bytes stay where they are, and readers see the file as it was or as it is.
        Its CDXJ forgets them. Again is harmless; two at once are not. `tick` is told bytes gone through.

        A file that is written to, or not where it could be found, waits. Of a WARC that was not written by
        us nothing is changed. Raises DamagedInputError where damage may hide such a record, and
        StorageFullError.
        """


class WarcArchive(Archive, WarcFiles, Protocol):
    """An archive as its backends are: bodies by their places, and the files these lie in."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of one home, opened. `journal` is the name of the journal-extract table."""

    queue: TopicQueue
    table: Table
    records: UnfilteredRecords
    ledger: Ledger
    blobs: Blobs
    index: Index
    archive: WarcArchive
    journal: str

    def for_readers(self) -> Stores:
        """The same stores as readers are shown them; in the index there is nothing under embargo anyway."""
        return replace(self, records=self.records.for_readers())


# Backends closed: no port asks for it, since not every backend holds something open.


def close(*backends: object) -> None:
    """Close those that can be closed, in this order."""
    for backend in backends:
        closing = getattr(backend, "close", None)
        if closing is not None:
            closing()
