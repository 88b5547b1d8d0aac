"""Audit of derivatives (texts, thumbnails, metadata): checks that their rows, blobs and index
documents exist and are unchanged.

`check_endings` compares the row of each derivative with the ledger: messages must show that the
file was read and the result stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, cast

from fonds.audit.entries import find_open_files
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.derivatives.document_rows import CurrentRow, IndexedKind
from fonds.derivatives.documents import DocumentOrigin, encode_text
from fonds.derivatives.fixity import (
    CELL_FAMILIES,
    build_fixity,
    build_row_fixity,
    get_blob_key,
    has_fixity,
)
from fonds.derivatives.kind import DerivativeKind, RereadPlan
from fonds.derivatives.kinds import KINDS, iter_kinds_with_rows
from fonds.model.disposition import Verdict
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError
from fonds.model.rights import Rights
from fonds.model.rows import DispositionRow, FileMetaRow, FixityRow, Row
from fonds.model.rows.row import DerivativeRow, NotInTable
from fonds.ports import Index, Records, Stores
from fonds.ports.scan import iter_chunks
from fonds.rights.combined_rights import load_file_rights, set_rights

Rows = Sequence[DerivativeRow]


def check_derivatives(stores: Stores, started_at: datetime) -> Iterator[AuditFault]:
    """Check the derivatives of every kind and yield the faults. Files that are being processed are
    skipped.

    `started_at` is the start of the audit; newer rows are skipped.
    """
    for first_kind in iter_kinds_with_rows():
        kinds = [kind for kind in KINDS if kind.row is first_kind.row]
        rows = (row for row in stores.records.find(first_kind.row) if row.updated <= started_at)
        for page in iter_chunks(rows):
            faults = list(_check_contents(stores, kinds, page))
            for kind in kinds:
                faults += _check_cells(stores, kind, page)
                faults += _check_rows(stores.records, kind, page)
                faults += _check_series(stores.records, kind, page)
            open_files = find_open_files(stores.records, {fault.subject for fault in faults})
            yield from (fault for fault in faults if fault.subject not in open_files)
            for kind in kinds:
                if kind.indexed is not None:
                    yield from _check_documents(stores, kind, kind.indexed, page, started_at)


def _check_contents(
    stores: Stores, kinds: Sequence[DerivativeKind], rows: Rows
) -> Iterator[AuditFault]:
    """Check that the blobs of derivative rows exist, and compare rows and sizes of blobs with their
    fixity (recorded size and SHA-256).

    `kinds`: the derivative kinds that are stored in the table of the rows.

    The bytes of blobs are not read. The blobs are texts and thumbnails.
    """
    has_blobs = any(kind.has_blobs for kind in kinds)
    fixities: dict[str, dict[str, FixityRow]] = {}
    if has_fixity(kinds[0].row):
        fixities = load_fixity(
            stores.records,
            [row.sha1hex for row in rows],
            part=None if has_blobs else kinds[0].row.TABLE,
        )
        for row in rows:
            yield from _check_row_fixity(row, fixities[row.sha1hex].get(row.TABLE))
    if not has_blobs:
        return
    keys = {key: row.sha1hex for kind in kinds for row in rows for key in kind.list_blobs(row)}
    blob_fixities = {
        key: fixity
        for of_file in fixities.values()
        for fixity in of_file.values()
        if (key := get_blob_key(fixity)) is not None
    }
    sizes = stores.blobs.get_sizes(sorted({*keys, *blob_fixities}))
    for key in sorted(keys.keys() - sizes.keys()):
        yield AuditFault(AuditCheck.BLOB, keys[key], f"blob {key} is missing")
    if not has_fixity(kinds[0].row):
        return
    for key in sorted(keys.keys() - blob_fixities.keys()):
        yield AuditFault(AuditCheck.ROW, keys[key], f"blob {key} has no fixity record")
    for key, fixity in sorted(blob_fixities.items()):
        size_bytes = sizes.get(key)
        if size_bytes is None and key not in keys:
            yield AuditFault(AuditCheck.BLOB, fixity.sha1hex, f"blob {key} is missing")
        elif size_bytes is not None and size_bytes != fixity.size_bytes:
            message = f"blob {key} has {size_bytes} bytes instead of {fixity.size_bytes}"
            yield AuditFault(AuditCheck.BLOB, fixity.sha1hex, message)


def _check_cells(stores: Stores, kind: DerivativeKind, rows: Rows) -> Iterator[AuditFault]:
    """Yield a fault for each file whose row in the wide-column table lacks cells that its
    derivative requires.
    """
    required_columns = {row.sha1hex: columns for row in rows if (columns := kind.list_cells(row))}
    if not required_columns:
        return
    all_columns = sorted({column for columns in required_columns.values() for column in columns})
    table_rows = stores.table.get(
        stores.journal, [bytes.fromhex(key) for key in required_columns], all_columns
    )
    for key, columns in sorted(required_columns.items()):
        cells = table_rows.get(bytes.fromhex(key), {})
        if missing_columns := [column for column in columns if column not in cells]:
            message = (
                f"the row of {key} in the table {stores.journal} has no "
                f"{', '.join(missing_columns)}"
            )
            yield AuditFault(AuditCheck.ROW, key, message)
    parts = {
        (key, family)
        for key, columns in required_columns.items()
        for column in columns
        if (family := column.partition(":")[0]) in CELL_FAMILIES
    }
    for key, family in stores.records.find_missing(FixityRow, sorted(parts)):  # type: ignore[misc]
        message = f"the cells of {family} in the row of {key} have no fixity record"
        yield AuditFault(AuditCheck.ROW, key, message)


def _check_rows(records: Records, kind: DerivativeKind, rows: Rows) -> Iterator[AuditFault]:
    """Check the rows of other tables that are computed from derivative rows, such as rows of
    rights.

    Computes these rows again, and yields a fault for each one that is missing or different in its
    table.
    """
    required_rows: dict[type[Row], dict[Any, tuple[str, Row]]] = defaultdict(dict)
    for row in rows:
        for other_row in kind.build_rows(row):
            table = type(other_row)
            required_rows[table][_build_key_getter(table)(other_row)] = (row.sha1hex, other_row)
    for table, expected_rows in required_rows.items():
        get_key = _build_key_getter(table)
        if len(table.KEY) == len(fields(table)):  # type: ignore[arg-type]
            # The rows are only keys, such as the 16 bands of each text. They need not be read.
            wrong_keys: list[Any] = records.find_missing(table, sorted(expected_rows))
        else:
            existing_rows = {get_key(row): row for row in records.get(table, list(expected_rows))}
            wrong_keys = [
                key
                for key, (_, expected_row) in expected_rows.items()
                if existing_rows.get(key) != expected_row
            ]
        for key in sorted(wrong_keys):
            name = key if isinstance(key, str) else ", ".join(map(str, key))
            message = f"a row of {table.TABLE} is missing: {name}"
            yield AuditFault(AuditCheck.ROW, expected_rows[key][0], message)


@cache
def _build_key_getter(kind: type[Row]) -> Callable[[Row], Any]:
    return attrgetter(*kind.KEY)


def _check_series(records: Records, kind: DerivativeKind, rows: Rows) -> Iterator[AuditFault]:
    """Check that each file has as many rows in a series as its derivative row says.

    A series is a table with any number of rows per file, such as the citations of a paper. Yields a
    fault for each file with a wrong number. Yields nothing if the derivative kind has no series.
    """
    series = kind.series
    if series is None:
        return
    keys = [row.sha1hex for row in rows]
    counts = records.count(series.row, ("sha1hex",), {"sha1hex": keys}) if keys else {}
    for row in rows:
        expected_count, actual_count = series.count(row), counts.get((row.sha1hex,), 0)
        if expected_count != actual_count:
            message = (
                f"{row.sha1hex} has {actual_count} rows of {series.name},"
                f" but its row in {row.TABLE} gives {expected_count}"
            )
            yield AuditFault(AuditCheck.ROW, row.sha1hex, message)


def _check_row_fixity(row: DerivativeRow, fixity: FixityRow | None) -> Iterator[AuditFault]:
    name = f"the row {row.sha1hex} of {row.TABLE}"
    if fixity is None:
        yield AuditFault(AuditCheck.ROW, row.sha1hex, f"{name} has no fixity record")
    elif fixity != build_row_fixity(row):
        yield AuditFault(AuditCheck.ROW, row.sha1hex, (f"{name} has changed since it was written"))


def load_fixity(
    records: Records, sha1hexes: Sequence[str], part: str | None = None
) -> dict[str, dict[str, FixityRow]]:
    """Return the fixity (recorded size and SHA-256) of each derivative row and blob of these files.

    The result is by SHA-1 of the file, then by name of the row's table or of the blob, such as
    `text`. `part` limits it to one of these names.
    """
    parts: dict[str, dict[str, FixityRow]] = defaultdict(dict)
    where = {"sha1hex": list(sha1hexes), **({} if part is None else {"part": part})}
    for fixity in records.find(FixityRow, where) if sha1hexes else ():
        parts[fixity.sha1hex][fixity.part] = fixity
    return parts


@dataclass(frozen=True, slots=True)
class _RecordsWithPage:
    """Records of which a page of derivative rows was read before. `get` does not read them again,
    because rows with JSON take long to read.

    `page`: derivative rows of one table, by SHA-1 of the file.
    """

    records: Records
    kind: type[DerivativeRow]
    page: Mapping[str, DerivativeRow]

    def get(self, kind: type[Any], keys: Sequence[object]) -> list[Any]:
        """Return rows by primary key: those of the page as they are, the others from the records."""
        if kind is not self.kind:
            return self.records.get(kind, keys)
        missing_keys = [key for key in keys if key not in self.page]
        page_rows = [self.page[key] for key in keys if key in self.page]  # type: ignore[index]
        return page_rows + (self.records.get(kind, missing_keys) if missing_keys else [])

    def __getattr__(self, name: str) -> Any:
        """Return the other methods of the records."""
        return getattr(self.records, name)


def _check_documents(
    stores: Stores,
    kind: DerivativeKind,
    indexed: IndexedKind,
    rows: Rows,
    started_at: datetime,
) -> Iterator[AuditFault]:
    """Compare the documents in the full-text index with the derivative rows, and yield the faults.

    Each expected document must exist and be built from the right file. Unexpected documents are
    faults too. Rows newer than `started_at`, the start of the audit, are skipped.
    """
    ids = sorted({indexed.get_id(row) for row in rows})
    page = {row.sha1hex: row for row in rows}
    known = cast(Records, _RecordsWithPage(stores.records, kind.row, page))
    try:
        suspects = _find_document_faults(stores.index, known, kind, indexed, ids, started_at)
        # The page is older than the documents. Reading the rows again shows whether they changed.
        faults = _find_document_faults(
            stores.index, stores.records, kind, indexed, sorted(suspects), started_at
        )
    except ConfigurationError as error:
        yield AuditFault(AuditCheck.DOCUMENT, "", f"cannot read {len(ids)} documents: {error}")
        return
    open_files = find_open_files(stores.records, {sha1hex for sha1hex, _ in faults.values()})
    for id_, (sha1hex, message) in faults.items():
        if sha1hex not in open_files:
            yield AuditFault(AuditCheck.DOCUMENT, id_, message)


def _find_document_faults(
    index: Index,
    records: Records,
    kind: DerivativeKind,
    indexed: IndexedKind,
    ids: Sequence[str],
    started_at: datetime,
) -> dict[str, tuple[str, str]]:
    """Return the SHA-1 of the file and a sentence for each wrong document, by id of the document.

    `ids`: ids of the documents to check.
    """
    if not ids:
        return {}
    # Read the full-text index before the rows: rows added in between are newer than `started_at`.
    documents = index.get(ids)
    expected_documents = indexed.load_current(records, ids)
    rights = load_file_rights(records, [row.sha1hex for row in expected_documents.values()])
    faults = {}
    for id_, current in sorted(expected_documents.items()):
        times = [version.updated_at for version in current.earlier_versions]
        if max([current.row.updated, *times]) > started_at:
            continue
        if message := _compare_document(
            kind, indexed, current, rights[current.sha1hex], documents.get(id_)
        ):
            faults[id_] = current.sha1hex, message
    for id_ in sorted(documents.keys() - expected_documents.keys()):
        message = f"{kind.title} {id_} is in the index but should not be"
        faults[id_] = documents[id_].sha1hex, message
    return faults


def _compare_document(
    kind: DerivativeKind,
    indexed_kind: IndexedKind,
    current: CurrentRow,
    rights: Rights,
    document: IndexDocument | None,
) -> str | None:
    """Return a sentence that says how a document in the index differs from its row, or None if it
    agrees.

    `current`: the derivative row of the document, and the rows of its earlier versions.
    `rights`: the stored rights of the file.
    `document`: the document in the index; None if the index lacks it.

    The texts are not compared; only the deep audit does that.
    """
    row = current.row
    id_ = indexed_kind.get_id(row)
    if document is None:
        return f"{kind.title} {id_} is missing from the index"
    if document.sha1hex != row.sha1hex:
        return (
            f"{kind.title} {id_} has the SHA-1 {document.sha1hex} in the index instead "
            f"of {row.sha1hex}"
        )
    origin = DocumentOrigin(
        document.url, document.canonical_domain, document.collection, document.captured
    )
    text = encode_text(document.text_content)
    expected_document = set_rights(indexed_kind.build_document(row, text, origin), rights)
    if _get_compared_values(expected_document) != _get_compared_values(document):
        names = [
            name
            for name in _COMPARED_NAMES
            if getattr(expected_document, name) != getattr(document, name)
        ]
        return f"{kind.title} {id_} has another {', '.join(names)} in the index than in its row"
    indexed_versions = [
        (version.sha1hex, version.captured, version.title) for version in document.earlier
    ]
    if indexed_versions != [
        (version.sha1hex, version.datetime14, version.title) for version in current.earlier_versions
    ]:
        return f"{kind.title} {id_} has other earlier versions in the index than in the records"
    return None


_SEPARATELY_CHECKED = frozenset(
    {"text_content", "indexed_date", "has_thumbnail", "earlier", "earlier_left_out"}
)
_COMPARED_NAMES = [name for name in IndexDocument.__slots__ if name not in _SEPARATELY_CHECKED]
_get_compared_values = attrgetter(*_COMPARED_NAMES)


def has_different_text(document: IndexDocument | None, fixity: FixityRow) -> bool:
    """Whether the text of a file in the full-text index differs from the recorded size and SHA-256.

    `document`: document of the file in the index; None if the index lacks it.
    `fixity`: recorded size and SHA-256 of the text of the file.

    Returns False if the index has no document of the file, or one built from another file.
    """
    if document is None or document.sha1hex != fixity.sha1hex:
        return False
    text = encode_text(document.text_content)
    return build_fixity(fixity.sha1hex, fixity.part, text) != fixity


ACCOUNTED = frozenset({str(Verdict.DONE), str(Verdict.QUARANTINED)})
"""Verdicts of a storing step that explain why its row exists: the step wrote the row, or wrote it
and then failed.
"""


def check_endings(records: Records, started_at: datetime) -> Iterator[AuditFault]:
    """Compare all derivative rows with the ledger: messages must show that each file was read and
    its result stored.

    Files that are being processed and rows newer than `started_at`, the start of the audit, are
    skipped. The database finds the rows that may contradict the ledger. Only these are checked.
    """
    for first_kind in iter_kinds_with_rows():
        kinds = [kind for kind in KINDS if kind.row is first_kind.row]
        steps = {step for kind in kinds for step in kind.sinks}.union(
            *(kind.reading.steps for kind in kinds if kind.reading)
        )
        for sha1hexes in iter_chunks(iter(sorted(_find_suspects(records, kinds)))):
            rows = records.find(first_kind.row, {"sha1hex": sha1hexes})
            page = [row for row in rows if row.updated <= started_at]
            where = {"about": [row.sha1hex for row in page]}
            dispositions: dict[str, list[DispositionRow]] = defaultdict(list)
            open_files = set()
            for disposition in records.find(DispositionRow, where):
                if disposition.is_open:
                    open_files.add(disposition.about)
                if disposition.step in steps:
                    dispositions[disposition.about or ""].append(disposition)
            settled_rows = [row for row in page if row.sha1hex not in open_files]
            for row in settled_rows:
                yield from _check_sink_written(kinds, first_kind, row, dispositions[row.sha1hex])
            for kind in kinds:
                if kind.reading:
                    yield from _read(records, kind, kind.reading, settled_rows, dispositions)


def _find_suspects(records: Records, kinds: Sequence[DerivativeKind]) -> set[str]:
    """Return the SHA-1s of all files whose derivative rows may contradict the ledger.

    `kinds`: the derivative kinds that are stored in one table.

    The exact check follows. A file that is left out passes it.
    """
    row_type = kinds[0].row
    statuses = {status for (status,) in records.count(row_type, ("status",))}
    if not statuses:
        return set()
    conditions: list[dict[str, object]] = []
    for kind in kinds:
        stored = {"step": list(kind.sinks), "verdict": sorted(ACCOUNTED)}
        conditions.append({"sha1hex": NotInTable(DispositionRow, "about", where=stored)})
        if kind.reading:
            read = {"step": list(kind.reading.steps), "verdict": str(Verdict.DONE)}
            conditions.append({"sha1hex": NotInTable(DispositionRow, "about", where=read)})
            conditions.append({"status": sorted(statuses - kind.reading.kept_statuses)})
    return {
        sha1hex
        for condition in conditions
        for (sha1hex,) in records.count(row_type, ("sha1hex",), condition)
    }


def _check_sink_written(
    kinds: Sequence[DerivativeKind],
    first: DerivativeKind,
    row: DerivativeRow,
    dispositions: Sequence[DispositionRow],
) -> Iterator[AuditFault]:
    """Check that the ledger has a storing step (sink) that finished each derivative of one file.

    `row`: derivative row of the file.
    `kinds`: the derivative kinds that are stored in the table of this row.
    `first`: the first of these kinds. The others are checked only if the row refers to their blobs.
    `dispositions`: ledger rows of the messages about the file.
    """
    for kind in kinds:
        if kind is not first and not kind.list_blobs(row):
            continue
        if not any(
            disposition.step in kind.sinks and disposition.verdict in ACCOUNTED
            for disposition in dispositions
        ):
            sinks = " or ".join(kind.sinks)
            message = (
                f"{row.sha1hex} has its {kind.title} in {row.TABLE}, but {sinks} is "
                "not done with it"
            )
            yield AuditFault(AuditCheck.ENDING, row.sha1hex, message, step=kind.step)


def _read(
    records: Records,
    kind: DerivativeKind,
    reading: RereadPlan,
    rows: Sequence[DerivativeRow],
    text: dict[str, list[DispositionRow]],
) -> Iterator[AuditFault]:
    """Check that the status of each derivative row agrees with how the messages of the step that
    read the file ended.

    `reading`: names the step that reads files for this derivative kind.
    `text`: ledger rows of the messages about each file, by SHA-1 of the file.

    Also yields a fault if the ledger has no message of that step about the file.
    """
    unread_rows = []
    for row in rows:
        dispositions = [
            disposition for disposition in text[row.sha1hex] if disposition.step in reading.steps
        ]
        if not dispositions:
            unread_rows.append(row.sha1hex)
        elif message := _compare_ending(row, reading, dispositions):
            yield AuditFault(AuditCheck.ENDING, row.sha1hex, message, step=reading.step)
    capture_ids = {
        disposition.sha1hex: disposition.capture_id
        for disposition in records.get(FileMetaRow, unread_rows)
    }
    for sha1hex in unread_rows:
        message = (
            f"{sha1hex} has its {kind.title}, but the ledger of {reading.step} has "
            "no message about it"
        )
        yield AuditFault(
            AuditCheck.WAY, capture_ids.get(sha1hex, sha1hex), message, step=reading.step
        )


def _compare_ending(
    row: DerivativeRow, reading: RereadPlan, ending: Sequence[DispositionRow]
) -> str | None:
    is_kept = row.status in reading.kept_statuses
    if any(disposition.verdict == Verdict.DONE for disposition in ending):
        if is_kept:
            return None
        return f"{reading.step} is done with {row.sha1hex}, but its status is {row.status}"
    last = max(ending, key=lambda disposition: disposition.settled_at or disposition.promised_at)
    # A file that was read before and failed on a later attempt keeps its older row.
    if is_kept and row.updated >= (last.settled_at or last.promised_at):
        return (
            f"{reading.step} ended as {last.verdict} with {row.sha1hex}, but its status "
            f"is {row.status}"
        )
    return None
