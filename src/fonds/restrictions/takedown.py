"""Takedowns: remove a file from every store, redact its entries and messages, and refuse its bytes
from then on.

The row in the table `takedowns` is written before anything is removed. An interrupted takedown can
be repeated, because rows that lead to other rows are removed last. The names of the library's WARCs
that contain the bytes of the file are saved in the takedown row before the rows that name them are
removed. Each name stays there until its WARC is rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec

from fonds.derivatives.index_update import iter_complete_documents, reindex_files
from fonds.derivatives.kinds import indexed_kinds
from fonds.failures.decisions import accept
from fonds.failures.entries import FailureQuery
from fonds.grouping.changes.writer import CollectionWriter
from fonds.model.message import Subscription
from fonds.model.restrictions import REDACTED, TakedownRest
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FaultRow,
    FetchedPageRow,
    FileMetaRow,
    HostFileRow,
    InputRow,
    TakedownRow,
)
from fonds.ports import Blobs, Records, Stores
from fonds.ports.scan import iter_chunks, iter_pages
from fonds.restrictions.takedown_list import list_takedown
from fonds.restrictions.traces import (
    build_key,
    find_holding_collections,
    find_traces,
    iter_file_rows,
    list_blob_keys,
    list_document_ids,
    list_story_ids,
)
from fonds.restrictions.warc_records import (
    WarcPurge,
    find_warc_names,
    scan_warc_names,
)
from fonds.rights.host_files import withdraw_files
from fonds.stores.journal_table.keys import build_row_key
from fonds.text.exchange import build_spool_key

NOTE_MAX_CHARS = 500
ROUNDS_MAX = 3


@dataclass(frozen=True, slots=True)
class TakedownService:
    """Service that takes files down. Call the object with a takedown row for each file, then call
    `finish` once with the returned rows.

    - `stores`: stores of the library.
    - `collection_writer`: writer of collections; None if the library has no collections.
    - `readers`: subscriptions whose quarantine may contain messages about the file.
    - `clock`: function that returns the current time in UTC.
    - `warcs`: function that rewrites a WARC of the library.
    - `forget_views`: function that deletes the rendered pages of PDFs.
    - `purge_stores`: function that purges the bytes of all deleted data from the stores, and returns
      a sentence for each place where they can remain.
    - `scans_all_warcs`: whether the indexes of all WARCs of the library are searched, to find WARCs
      that no row names.
    - `list_path`: file outside the library that lists all takedowns; None without one.
    """

    stores: Stores
    collection_writer: CollectionWriter | None
    readers: Sequence[Subscription]
    clock: Callable[[], datetime]
    warcs: WarcPurge
    forget_views: Callable[[Blobs], None]
    purge_stores: Callable[[], Sequence[str]]
    scans_all_warcs: bool = False
    list_path: Path | None = None

    def __call__(self, takedown: TakedownRow) -> TakedownRow:
        """Take one file down, or resume an interrupted takedown. Return the stored row of
        `takedowns`.

        Afterwards, nothing shows the file any more. `rest.purge` in the row is false while messages
        about the file are in progress, or while a WARC of the library that contains the file cannot
        be rewritten. In that case, repeat the call later. Raises ConfigurationError if the list of
        takedowns is invalid or cannot be written; nothing is removed then.
        """
        records = self.stores.records
        if self.list_path is not None:
            list_takedown(records, self.list_path, takedown)
        # First of all: from here on the file's bytes are refused, and its address shows a
        # tombstone.
        records.put([takedown], replace=False)
        (row,) = records.get(TakedownRow, [takedown.sha1hex])
        scanned_names = (
            scan_warc_names(self.stores.archive, row.sha1hex) if self.scans_all_warcs else ()
        )
        warcs, traces = set(scanned_names), None
        for _ in range(ROUNDS_MAX):
            row = self._record_traces(row, warcs)
            self._purge(row)
            traces = find_traces(
                self.stores,
                self.collection_writer.tables if self.collection_writer else None,
                row.sha1hex,
            )
            if not traces.has_any or traces.in_flight:
                break
        row = self._purge_warcs(row)
        if traces is None or traces.has_any or row.rest.warcs:
            return row
        removed_row = replace(row, rest=TakedownRest(purge=True))
        records.put([removed_row])
        return removed_row

    def finish(self, rows: Sequence[TakedownRow]) -> tuple[list[TakedownRow], Sequence[str]]:
        """Purge the bytes of the removed files from all stores, and record those takedowns as
        finished.

        Returns the rows as stored then, and a sentence for each place where bytes of deleted data
        can remain. A row whose file is not completely removed is returned unchanged. Rewrites the
        files of the stores, so call it once for several files. If it is interrupted, repeat it.
        """
        if not any(row.rest.purge for row in rows):
            return list(rows), ()
        remains = self.purge_stores()
        finished_rows = [
            replace(row, rest=TakedownRest(), finished=self.clock()) if row.rest.purge else row
            for row in rows
        ]
        self.stores.records.put([row for row in finished_rows if row.finished is not None])
        return finished_rows, remains

    def _record_traces(self, row: TakedownRow, warcs: set[str]) -> TakedownRow:
        """Add the documents and WARCs that contain the file to the takedown row.

        Return the new row. The rows by which documents and WARCs are found are removed only
        afterwards. `warcs` are further names of WARCs to add.
        """
        records, sha1hex = self.stores.records, row.sha1hex
        documents = {
            *row.rest.documents,
            *list_document_ids(records, sha1hex),
            *list_story_ids(records, sha1hex),
        }
        names = warcs | find_warc_names(self.stores, sha1hex)
        remaining_work = TakedownRest(
            documents=tuple(sorted(documents)), warcs=tuple(sorted(names))
        )
        row = replace(row, rest=remaining_work, finished=None)
        records.put([row])
        return row

    def _purge_warcs(self, row: TakedownRow) -> TakedownRow:
        """Purge the file from the WARCs named in the takedown row.

        Return the row with the names of those WARCs that still contain the file.
        """
        for name in row.rest.warcs:
            if self.warcs(row, name):
                remaining = tuple(warc_name for warc_name in row.rest.warcs if warc_name != name)
                remaining_work = msgspec.structs.replace(row.rest, warcs=remaining)
                row = replace(row, rest=remaining_work)
                self.stores.records.put([row])
        return row

    def _purge(self, row: TakedownRow) -> None:
        stores, sha1hex = self.stores, row.sha1hex
        accept(stores, self.readers, FailureQuery(keys=(sha1hex,)), self.clock, REDACTED)
        self._remove_from_index(row)
        self.forget_views(stores.blobs)
        stores.blobs.delete(list_blob_keys(stores.records, sha1hex))
        _remove_exchanges(stores, sha1hex)
        _redact(stores.records, sha1hex)
        for page in iter_pages(stores.table, stores.journal, build_row_key(sha1hex)):
            stores.table.delete(stores.journal, [key for key, _ in page])
        faults = stores.records.find(FaultRow, {"subject": sha1hex})
        stores.records.delete(FaultRow, [(item.subject, item.message) for item in faults])
        for files in iter_chunks(stores.records.find(HostFileRow, {"sha1hex": sha1hex})):
            changed_sha1hexes = withdraw_files(stores.records, files, self.clock())
            reindex_files(stores.records, stores.blobs, stores.index, sorted(changed_sha1hexes))
        for rows in iter_chunks(iter_file_rows(stores.records, sha1hex)):
            for table in dict.fromkeys(type(item) for item in rows):
                keys = [build_key(item) for item in rows if type(item) is table]
                stores.records.delete(table, keys)
        self._show_other_versions(row)

    def _remove_from_index(self, row: TakedownRow) -> None:
        """Remove a file from the index and from all collections.

        Documents of stories that include the file as an earlier version are removed too. They are
        indexed again later without the file.
        """
        documents = self.stores.index.get(row.rest.documents)
        document_ids = [
            id_
            for id_, document in documents.items()
            if row.sha1hex in (document.sha1hex, *(version.sha1hex for version in document.earlier))
        ]
        self.stores.index.delete(document_ids)
        if self.collection_writer is not None:
            ids = list_document_ids(self.stores.records, row.sha1hex)
            for name in find_holding_collections(self.collection_writer.tables, ids):
                self.collection_writer.delete(name, ids)

    def _show_other_versions(self, row: TakedownRow) -> None:
        """Rebuild the index documents of stories that contained the file, without its text.

        Each document then shows another version of the story. A story without another version is
        not indexed.
        """
        stores = self.stores
        for _, indexed_kind in indexed_kinds():
            current = list(indexed_kind.load_current(stores.records, row.rest.documents).values())
            for document in iter_complete_documents(
                indexed_kind, stores.records, stores.blobs, current
            ):
                stores.index.put([document])


def _list_captures(records: Records, sha1hex: str) -> Iterable[str]:
    """Yield the ids of all captures of a file.

    The ledger entry of a capture has the same id.
    """
    yield from (row.capture_id for row in records.find(CdxRow, {"sha1hex": sha1hex}))
    yield from (row.capture_id for row in records.get(FileMetaRow, [sha1hex]))


def _remove_exchanges(stores: Stores, sha1hex: str) -> None:
    """Delete the fetched requests and responses of a file that are not archived in a WARC yet."""
    for ids in iter_chunks(iter(_list_captures(stores.records, sha1hex))):
        stores.blobs.delete([build_spool_key(capture_id) for capture_id in ids])
        stores.records.delete(FetchedPageRow, sorted(set(ids)))


def _redact(records: Records, sha1hex: str) -> None:
    """Remove what identifies a file from its ledger entries and from the records of its messages.

    Whether each message succeeded is kept. Entries are redacted before messages, because the
    messages are used to find them. Records of messages in progress are not changed.
    """
    for ids in iter_chunks(iter(_list_captures(records, sha1hex))):
        _redact_entries(records, ids)
    for rows in iter_chunks(records.find(DispositionRow, {"about": sha1hex})):
        _redact_entries(records, [row.entry_id for row in rows])
        ended_keys = [build_key(row) for row in rows if not row.is_open]
        records.change(DispositionRow, ended_keys, {"about": None, "detail": REDACTED})


def _redact_entries(records: Records, entry_ids: Sequence[str]) -> None:
    rows = list(records.find(EntryRow, {"entry_id": sorted(set(entry_ids))}))
    redaction = {"url": REDACTED, "place": None, "about": None, "detail": REDACTED}
    records.change(EntryRow, [build_key(row) for row in rows], redaction)
    for input_id in sorted({row.input_id for row in rows}):
        input_filter = {"input_id": input_id}
        total = records.count(EntryRow, (), input_filter)[()]
        if total == records.count(EntryRow, (), {**input_filter, "url": REDACTED})[()]:
            inputs = list(records.find(InputRow, input_filter))
            records.change(InputRow, [build_key(row) for row in inputs], {"path": REDACTED})
            # The error message may contain the path.
            failed_keys = [build_key(row) for row in inputs if row.error is not None]
            records.change(InputRow, failed_keys, {"error": REDACTED})
