"""Interfaces of table, blobs, index and archive, and the set of stores of one home."""

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

    Columns are `family:qualifier`; families are declared with the table. Writes are upserts by
    cell. Readers may name columns, or whole families as `family:`. Then no other cells are fetched,
    and a row without any of them counts as missing. At most 1,000 columns may be named; None means
    all.
    """

    def declare(
        self, table: str, families: Sequence[str], *, compressions: Mapping[str, str] | None = None
    ) -> None:
        """Create the table; repeating it is harmless, and adds families if the backend can.

        `compressions` names the compression of families as HBase does; backends without compression
        ignore it. Raises ConfigurationError if the table has a family that is not named, or lacks
        one that cannot be added.
        """

    def list_tables(self) -> dict[str, frozenset[str]]:
        """Return the existing tables with their families."""

    def put(
        self,
        table: str,
        rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
        *,
        where_equal: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Write cells durably, replacing those of the same row and column; other cells stay.

        With `where_equal` each row is one cell. It is written only if it still has the value that
        `where_equal` gives for its key; check and write are atomic. To learn whether it was
        written, read it again.

        Raises ConfigurationError for an undeclared table or family, and ValueError for an empty
        value in `where_equal`.
        """

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """Return the existing rows by key; missing rows are left out."""

    def scan(
        self,
        table: str,
        prefix: bytes = b"",
        *,
        after: bytes | None = None,
        count_max: int = 1000,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Return up to `count_max` rows with `prefix` and a key greater than `after`, in byte
        order of keys.
        """

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Delete whole rows, or these cells of each; missing ones are no error.

        A row without cells no longer exists. At most 1,000 columns, each by its full name. Raises
        ValueError for more, or for a family.
        """


class Blobs(Protocol):
    """Bytes by key. No rename, no listing on hot paths. A put replaces the whole blob atomically."""

    def put(self, blobs: Sequence[Blob]) -> None:
        """Store blobs durably; after an error some may be stored.

        Raises ConfigurationError for a key with `..`, an empty part or a NUL.
        """

    def get(self, key: str) -> bytes | None:
        """Return the blob, or None if it does not exist."""

    def filter_existing(self, keys: Sequence[str]) -> set[str]:
        """Return those of `keys` that exist."""

    def get_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each existing blob of `keys`, without reading it."""

    def delete(self, keys: Sequence[str]) -> None:
        """Delete blobs; missing ones are no error."""


class Index(Protocol):
    """Full-text index. A document replaces the one with its `id`."""

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Store documents durably; they are searchable at once or after the backend's refresh."""

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents; missing ones are no error."""

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Return the existing documents, complete, by `id`; without waiting for a refresh."""

    def search(self, query: SearchQuery) -> SearchResults:
        """Search the index.

        Raises ValueError with a message for people if `query.text` is not understood. The results
        name the generation of the index: every put, deletion and reindexing makes a new one. A
        server that is asked for it at most once a second may return a generation one second old.
        """

    def find_similar_words(self, word: str) -> Sequence[str]:
        """Return up to five indexed words spelled almost like this folded one, the likeliest first.

        They are suggestions; do not count them.
        """

    def count(self) -> int:
        """Return the number of documents."""


class QueryCompleter(Protocol):
    """Completes a search while it is typed, from what an index contains."""

    def complete(self, text: str, cursor: int | None = None) -> CompletionList:
        """Return at most ten completions at the cursor, in characters from 0; None is the end.

        Raises ValueError for a cursor outside the text.
        """

    def suggest_replacement(self, text: str, cursor: int) -> CompletionList | None:
        """Suggest replacements of the value at `cursor` for a search that fails or finds nothing.

        Returns None if there is no value at the cursor, or if the value is known.
        """


class Archive(Protocol):
    """Bodies in WARC files: read from any location, written to our own files."""

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the body at `place` with its codings decoded.

        With `sha1hex`, the body must have that hash. Raises DamagedInputError (`damaged-record` if
        the bytes there have changed), LimitError, PermanentError (`missing-source`,
        `unreadable-source`, with the path), and TransientError if the store does not answer.
        """

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """Append records durably (one fsync per batch).

        Return their locations in the order of `entries`. A location in one of our files has the
        bare file name as its path, wherever the file is now or later. A full file is finished by
        the next `write`, after the caller has recorded these locations. If a process crashes, the
        same `capture_id` may be written twice; callers call `recover` first.
        """

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """Cut unreferenced records from the files that a killed process left open.

        `find_known_end(name)` returns the end in bytes of the last settled record of that file, or
        None.
        """

    def finish(self) -> None:
        """Finish the open file and write its CDXJ index next to it. Repeating it is harmless."""


class WarcFiles(Protocol):
    """The WARC files of the archive: their state and their bytes."""

    def iter_names(self) -> Iterator[str]:
        """Yield the bare name of each of our WARCs once, in any location, including open ones.

        The names are streamed.
        """

    def open(self, path: str) -> BinaryIO:
        """Open a WARC for reading and seeking: one of our own by name, another on this machine by
        absolute path.

        Raises PermanentError (`missing-source`, `unreadable-source`); for a bucket also during
        reading.
        """

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """Return the state of a WARC by the `path` of a location in it; None if it is gone.

        Reads no record. Nothing is known of files on other machines that are not ours. With
        `repair`, the CDXJ of a finished file of our own is first rebuilt from its records, whatever
        it contains.
        """

    def list_unsent(self) -> Mapping[str, int]:
        """Return our finished WARCs that are only here and must be uploaded: size in bytes
        by name.

        The size includes the index. Empty if files stay where they are written.
        """

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """Replace the records of a file in one of our WARCs by tombstones of the same length.

        Records next to them that describe them are replaced too. All other bytes keep their
        offsets. Readers see the old or the new file, never a mix. The CDXJ drops the replaced
        records. Repeating it is harmless, but two purges must not run at once. `tick` receives the
        number of bytes processed.

        A file that is open for writing or cannot be found waits. A WARC that we did not write is
        not changed. Raises DamagedInputError if damage may hide such a record, and
        StorageFullError.
        """


class WarcArchive(Archive, WarcFiles, Protocol):
    """Archive as every backend implements it: bodies by location, and the files that contain them."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Open stores of one home. `journal` is the name of the journal-extract table."""

    queue: TopicQueue
    table: Table
    records: UnfilteredRecords
    ledger: Ledger
    blobs: Blobs
    index: Index
    archive: WarcArchive
    journal: str

    def for_readers(self) -> Stores:
        """Return the stores as readers see them. The index never contains documents under embargo."""
        return replace(self, records=self.records.for_readers())


def close(*backends: object) -> None:
    """Close those backends that have a `close` method, in this order. No port requires one."""
    for backend in backends:
        closing = getattr(backend, "close", None)
        if closing is not None:
            closing()
