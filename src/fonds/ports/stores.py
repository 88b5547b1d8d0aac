"""Interfaces of the wide table, blobs, index and archive, and the set of stores of one home.

A home is the folder of a library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

if TYPE_CHECKING:
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
    """Interface of a wide-row store: rows by binary key, in key order, as in HBase.

    Each cell has one version. Columns are `family:qualifier`; families are declared with the table.
    Writes insert or replace single cells. Reads may name columns, or whole families as `family:`.
    Then no other cells are fetched, and a row without any of them counts as missing. At most 1,000
    columns may be named; None means all.
    """

    def declare(
        self, table: str, families: Sequence[str], *, compressions: Mapping[str, str] | None = None
    ) -> None:
        """Create a table with its column families; repeating it is harmless.

        Families that an existing table lacks are added if the backend can add them. `compressions`
        names the compression of families as HBase does; backends without compression ignore it.
        Raises ConfigurationError if the existing table has a family that is not named, or lacks one
        that cannot be added.
        """

    def list_tables(self) -> dict[str, frozenset[str]]:
        """Return the names of the existing tables with their column families."""

    def put(
        self,
        table: str,
        rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
        *,
        where_equal: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Write cells durably, replacing those of the same row and column; other cells stay.

        - `rows`: row key and cells by column name.
        - `where_equal`: expected values by row key. If given, each row must have exactly one cell.
          The cell is written only if its stored value equals the expected one; check and write are
          atomic. To learn whether a cell was written, read it again.

        Raises ConfigurationError for an undeclared table or family, and ValueError for an empty
        value in `where_equal`.
        """

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """Return the existing rows with these keys, as cells by row key; missing rows are left out.

        `columns`: columns or families to read; None reads all.
        """

    def scan(
        self,
        table: str,
        prefix: bytes = b"",
        *,
        after: bytes | None = None,
        count_max: int = 1000,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Return up to `count_max` rows whose key begins with `prefix` and is greater than `after`.

        Rows are (key, cells), in byte order of keys. `columns`: columns or families to read; None
        reads all.
        """

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Delete whole rows, or only the cells in `columns` of each row; missing ones are no error.

        A row without cells no longer exists. `columns` has at most 1,000 columns, each by its full
        name. Raises ValueError for more columns, or for a family.
        """


class Blobs(Protocol):
    """Interface of a blob store: bytes by key. A put replaces the whole blob atomically.

    Blobs cannot be renamed or listed.
    """

    def put(self, blobs: Sequence[Blob]) -> None:
        """Store blobs durably; each replaces an older blob with the same key.

        After an error some of the blobs may be stored. Raises ConfigurationError for a key with
        `..`, an empty part or a NUL.
        """

    def get(self, key: str) -> bytes | None:
        """Return the bytes of the blob with this key, or None if it does not exist."""

    def filter_existing(self, keys: Sequence[str]) -> set[str]:
        """Return those of `keys` for which a blob exists."""

    def get_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each existing blob of `keys`, by key, without reading the
        blobs.
        """

    def delete(self, keys: Sequence[str]) -> None:
        """Delete the blobs with these keys; missing ones are no error."""


class Index(Protocol):
    """Interface of a full-text index. A document that is put replaces the document with the same
    `id`.
    """

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Store documents in the index durably.

        They are searchable at once or after the backend's refresh.
        """

    def delete(self, ids: Sequence[str]) -> None:
        """Delete the documents with these ids from the index; missing ones are no error."""

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Return the existing documents with these ids, complete, as a mapping from id to document.

        A document just stored is included, even before the backend's refresh.
        """

    def search(self, query: SearchQuery) -> SearchResults:
        """Search the full-text index.

        Raises ValueError with a message for people if `query.text` cannot be parsed. The results
        contain the generation of the index, an id that every put, deletion and reindexing changes.
        A server that Fonds queries for the generation at most once a second may return one that is
        a second old.
        """

    def find_similar_words(self, word: str) -> Sequence[str]:
        """Return up to five indexed words spelled almost like a word, the likeliest first.

        `word`: folded (case and accents removed). The words are suggestions: a search for one may
        find nothing.
        """

    def count(self) -> int:
        """Return the number of documents in the index."""


class Purgeable(Protocol):
    """Interface of a store that can remove what deleted data left behind. Every store implements it.

    A deletion only marks data as deleted in most stores. Until other data replaces it, it is still
    in a file.
    """

    def purge(self) -> Sequence[str]:
        """Remove the bytes of all data that was deleted before.

        Returns a sentence for each place where they can remain, with how long they remain there.
        Rewrites large parts of the store, and so takes long. No other process may write meanwhile.
        """


class QueryCompleter(Protocol):
    """Interface that completes a search while a person types it, from what an index contains."""

    def complete(self, text: str, cursor: int | None = None) -> CompletionList:
        """Return at most ten completions of a search at the cursor.

        `cursor`: position in characters from 0; None is the end of the text.

        Raises ValueError for a cursor outside the text.
        """

    def suggest_replacement(self, text: str, cursor: int) -> CompletionList | None:
        """Suggest replacements for the value at `cursor`, for a search that fails or finds nothing.

        `cursor`: position in characters from 0.

        Return None if there is no value at the cursor, or if the index knows the value.
        """


class Archive(Protocol):
    """Interface for reading bodies from any location, and for writing bodies to the WARC files of
    Fonds.

    A body is the decoded content of an HTTP response or file.
    """

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the body stored at a location, with transfer and content codings decoded.

        With `sha1hex`, the body must have that SHA-1. Raises DamagedInputError (`damaged-record` if
        the bytes there have changed), LimitError, PermanentError (`missing-source`,
        `unreadable-source`, with the path), and TransientError if the store does not answer.
        """

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """Append records to the WARC files of Fonds durably, with one fsync per batch.

        Return the locations of the records in the order of `entries`. The path of such a location
        is the bare file name, wherever the WARC file is now or later. A full file is finished by
        the next `write`, after the caller has recorded these locations. If a process crashes, the
        same `capture_id` may be written twice; so callers call `recover` first.
        """

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """Repair the WARC files that a killed process left open.

        Records to which no stored location refers are cut off. `find_known_end(name)` returns the
        position in bytes at which the last known record of a file ends, or None if none of its
        records is known.
        """

    def finish(self) -> None:
        """Finish the open WARC file and write its CDXJ index next to it. Repeating it is
        harmless.
        """


class WarcFiles(Protocol):
    """Interface of the WARC files of the archive: their names, contents and condition."""

    def iter_names(self) -> Iterator[str]:
        """Yield the bare name of each WARC file that Fonds wrote, once, in any location; streamed.

        Includes files that are still open for writing.
        """

    def open(self, path: str) -> BinaryIO:
        """Open a WARC file for reading and seeking.

        `path`: bare name of a file that Fonds wrote, or absolute path of another WARC file on this
            machine.

        Raises PermanentError (`missing-source`, `unreadable-source`); for a bucket also during
        reading.
        """

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """Return the state of a WARC file; None if the file is gone.

        - `path`: path of the WARC file, as in the location of one of its records.
        - `repair`: first rebuild the CDXJ index of a finished WARC file of Fonds from its records,
          whatever the index contains.

        Except for a repair, no record is read. For a file on another machine that Fonds did not
        write, the state is unknown.
        """

    def list_unsent(self) -> Mapping[str, int]:
        """Return the finished WARC files of Fonds that are only on this machine and must be
        uploaded.

        The result maps file names to sizes in bytes, including the index. It is empty if WARC files
        stay where they are written.
        """

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """Replace the records of a removed file in one WARC file of Fonds by tombstones of the same
        length.

        Other records that describe these records are replaced too. All other bytes keep their
        offsets. Readers see the old or the new WARC file, never a mix. The CDXJ index drops the
        replaced records. Repeating it is harmless, but two purges must not run at once. `tick`
        receives the number of bytes processed. A WARC file that is open for writing or cannot be
        found waits. A WARC file that Fonds did not write is not changed. Raises DamagedInputError
        if damage may hide a record of the removed file, and StorageFullError.
        """


class WarcArchive(Archive, WarcFiles, Protocol):
    """Interface of the complete archive: bodies by location, and the WARC files that contain them.

    Every archive backend implements it.
    """


@dataclass(frozen=True, slots=True)
class Stores:
    """Open stores of one home, the folder of a library.

    - `table`: wide table with one row per file.
    - `journal`: name of the table with one row per file (the journal-extract table) in `table`.
    - `records`: SQL rows that people query.
    - `ledger`: record of how every message ended.
    - `blobs`: bytes by key, such as texts and thumbnails.
    - `archive`: WARC files.
    """

    queue: TopicQueue
    table: Table
    records: UnfilteredRecords
    ledger: Ledger
    blobs: Blobs
    index: Index
    archive: WarcArchive
    journal: str

    def for_readers(self) -> Stores:
        """Return the same stores, but only with the SQL rows that readers may see.

        Rows about files under embargo are left out. The index never contains documents under
        embargo.
        """
        return replace(self, records=self.records.for_readers())


def purge(*backends: object) -> list[str]:
    """Remove the bytes of deleted data from the given stores, in the given order.

    Returns a sentence for each place where they can remain.
    """
    return [sentence for backend in backends for sentence in cast(Purgeable, backend).purge()]


def close(*backends: object) -> None:
    """Close those of the given stores that have a `close` method, in the given order.

    No interface of a store requires that method.
    """
    for backend in backends:
        closing = getattr(backend, "close", None)
        if closing is not None:
            closing()
