"""What was made of files: rows, blobs and documents, each as it was when it was written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from fonds.audit.entries import find_open_files
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.derivatives.document_rows import CurrentRow, IndexedKind
from fonds.derivatives.documents import DocumentOrigin, encode_text
from fonds.derivatives.fixity import build_fixity, build_row_fixity, get_blob_key, has_fixity
from fonds.derivatives.kind import DerivativeKind, RereadPlan
from fonds.derivatives.kinds import KINDS, iter_kinds_with_rows
from fonds.model.disposition import Verdict
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError
from fonds.model.rights import Rights
from fonds.model.rows import DispositionRow, FileMetaRow, FixityRow, Row
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_chunks
from fonds.rights.combined_rights import load_file_rights, set_rights

Rows = Sequence[DerivativeRow]


def check_derivatives(stores: Stores, started_at: datetime) -> Iterator[AuditFault]:
    """The faults of all kinds. What somebody is working on just now is left alone."""
    seen = set()
    for kind in KINDS:
        rows = (row for row in stores.records.find(kind.row) if row.updated <= started_at)
        first = kind.row.TABLE not in seen
        seen.add(kind.row.TABLE)
        for some in iter_chunks(rows):
            found = [
                *_check_blobs(stores, kind, some),
                *_check_cells(stores, kind, some),
                *_check_rows(stores.records, kind, some),
                *_check_series(stores.records, kind, some),
            ]
            if first:
                found += _check_fixity(stores, kind, some)
            busy = find_open_files(stores.records, {fault.subject for fault in found})
            yield from (fault for fault in found if fault.subject not in busy)
            yield from _check_documents(stores, kind, some, started_at)


def _check_blobs(stores: Stores, kind: DerivativeKind, rows: Rows) -> Iterator[AuditFault]:
    """The blobs the rows promise are there."""
    keys = {key: row.sha1hex for row in rows for key in kind.list_blobs(row)}
    there = stores.blobs.filter_existing(sorted(keys)) if keys else set()
    for key in sorted(keys.keys() - there):
        yield AuditFault(AuditCheck.BLOB, keys[key], f"blob {key} is missing")


def _check_cells(stores: Stores, kind: DerivativeKind, rows: Rows) -> Iterator[AuditFault]:
    """The cells the rows promise are there."""
    promised = {row.sha1hex: columns for row in rows if (columns := kind.list_cells(row))}
    if not promised:
        return
    wanted = sorted({column for columns in promised.values() for column in columns})
    there = stores.table.get(stores.journal, [bytes.fromhex(key) for key in promised], wanted)
    for key, columns in sorted(promised.items()):
        found = there.get(bytes.fromhex(key), {})
        if absent := [column for column in columns if column not in found]:
            told = f"the row of {key} in the table {stores.journal} lacks {', '.join(absent)}"
            yield AuditFault(AuditCheck.ROW, key, told)


def _check_rows(records: Records, kind: DerivativeKind, rows: Rows) -> Iterator[AuditFault]:
    """The rows of other tables that the rows promise are there, as they were promised."""
    promised: dict[type[Row], dict[tuple[object, ...], tuple[str, Row]]] = defaultdict(dict)
    for row in rows:
        for one in kind.build_rows(row):
            promised[type(one)][_row_key(one)] = (row.sha1hex, one)
    for table, wanted in promised.items():
        keys: list[object] = [key if len(key) > 1 else key[0] for key in wanted]
        there = {_row_key(one): one for one in records.get(table, keys)}
        for key, (sha1hex, one) in sorted(wanted.items()):
            if there.get(key) != one:
                yield AuditFault(
                    AuditCheck.ROW,
                    sha1hex,
                    f"a row of {table.TABLE} is missing: {', '.join(map(str, key))}",
                )


def _check_series(records: Records, kind: DerivativeKind, rows: Rows) -> Iterator[AuditFault]:
    """Each file has as many further rows as its own promises."""
    series = kind.series
    if series is None:
        return
    keys = [row.sha1hex for row in rows]
    counts = records.count(series.row, ("sha1hex",), {"sha1hex": keys}) if keys else {}
    for row in rows:
        promised, there = series.count(row), counts.get((row.sha1hex,), 0)
        if promised != there:
            told = f"{row.sha1hex} has {there} rows of {series.name}, and {promised} by its row of"
            yield AuditFault(AuditCheck.ROW, row.sha1hex, f"{told} {row.TABLE}")


def _row_key(row: Row) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in row.KEY)


def _check_fixity(stores: Stores, kind: DerivativeKind, rows: Rows) -> Iterator[AuditFault]:
    """Rows are what was noted, blobs have the length that was."""
    if not has_fixity(kind.row):
        return
    parts = load_fixity(stores.records, [row.sha1hex for row in rows])
    for row in rows:
        yield from _check_row_fixity(row, parts[row.sha1hex].get(row.TABLE))
    if not any(one.has_blobs for one in KINDS if one.row is kind.row):
        return
    noted = [one for of_file in parts.values() for one in of_file.values()]
    keys = {key: one for one in noted if (key := get_blob_key(one)) is not None}
    promised = {
        key: row.sha1hex
        for one in KINDS
        if one.row is kind.row
        for row in rows
        for key in one.list_blobs(row)
    }
    for key in sorted(promised.keys() - keys.keys()):
        yield AuditFault(AuditCheck.ROW, promised[key], f"blob {key} has no fixity")
    sizes = stores.blobs.get_sizes(sorted(keys)) if keys else {}
    for key, fixity in sorted(keys.items()):
        size_bytes = sizes.get(key)
        if size_bytes is None and key not in promised:
            yield AuditFault(AuditCheck.BLOB, fixity.sha1hex, f"blob {key} is missing")
        elif size_bytes is not None and size_bytes != fixity.size_bytes:
            told = f"blob {key} has {size_bytes} bytes and was written with {fixity.size_bytes}"
            yield AuditFault(AuditCheck.BLOB, fixity.sha1hex, told)


def _check_row_fixity(row: DerivativeRow, fixity: FixityRow | None) -> Iterator[AuditFault]:
    name = f"the row {row.sha1hex} of {row.TABLE}"
    if fixity is None:
        yield AuditFault(AuditCheck.ROW, row.sha1hex, f"{name} has no fixity")
    elif fixity != build_row_fixity(row):
        yield AuditFault(AuditCheck.ROW, row.sha1hex, f"{name} is not as it was written")


def load_fixity(records: Records, sha1hexes: Sequence[str]) -> dict[str, dict[str, FixityRow]]:
    """The fixity of these files, by file and part."""
    parts: dict[str, dict[str, FixityRow]] = defaultdict(dict)
    for fixity in records.find(FixityRow, {"sha1hex": list(sha1hexes)}) if sha1hexes else ():
        parts[fixity.sha1hex][fixity.part] = fixity
    return parts


def _check_documents(
    stores: Stores, kind: DerivativeKind, rows: Rows, started_at: datetime
) -> Iterator[AuditFault]:
    """Each document that should be is in the index, made of the file it is to be made of."""
    if kind.indexed is None:
        return
    ids = sorted({kind.indexed.get_id(row) for row in rows})
    # The index first: a row that came in between is younger than `began`.
    try:
        there = stores.index.get(ids)
    except ConfigurationError as error:
        yield AuditFault(AuditCheck.DOCUMENT, "", f"{len(ids)} documents cannot be read: {error}")
        return
    wanted = kind.indexed.load_current(stores.records, ids)
    rights = load_file_rights(stores.records, [row.sha1hex for row in wanted.values()])
    found = []
    for id_, current in sorted(wanted.items()):
        if max(one.updated for one in (current.row, *current.earlier)) > started_at:
            continue
        if told := _compare_document(
            kind, kind.indexed, current, rights[current.sha1hex], there.get(id_)
        ):
            found.append((current.sha1hex, AuditFault(AuditCheck.DOCUMENT, id_, told)))
    for id_ in sorted(there.keys() - wanted.keys()):
        told = f"{kind.title} {id_} is in the index and is not to be there"
        found.append((there[id_].sha1hex, AuditFault(AuditCheck.DOCUMENT, id_, told)))
    busy = find_open_files(stores.records, {sha1hex for sha1hex, _ in found})
    yield from (fault for sha1hex, fault in found if sha1hex not in busy)


def _compare_document(
    kind: DerivativeKind,
    indexed_kind: IndexedKind,
    current: CurrentRow,
    rights: Rights,
    document: IndexDocument | None,
) -> str | None:
    """What is wrong with a document, but for its text: that is compared by the deep audit."""
    row = current.row
    id_ = indexed_kind.get_id(row)
    if document is None:
        return f"{kind.title} {id_} is not in the index"
    if document.sha1hex != row.sha1hex:
        return f"{kind.title} {id_} is in the index as {document.sha1hex}, not {row.sha1hex}"
    origin = DocumentOrigin(
        document.url, document.canonical_domain, document.collection, document.captured
    )
    text = encode_text(document.text_content)
    made = set_rights(indexed_kind.document(row, text, origin), rights)
    names = [
        name
        for name in IndexDocument.__slots__
        if name not in _SEPARATELY_CHECKED and getattr(made, name) != getattr(document, name)
    ]
    if names:
        return (
            f"{kind.title} {id_} is in the index with another {', '.join(names)} than its row has"
        )
    kept = [(version.sha1hex, version.captured, version.title) for version in document.earlier]
    if kept != [(each.sha1hex, each.captured, each.title) for each in current.earlier]:
        return f"{kind.title} {id_} is in the index with other earlier versions than there are"
    return None


_SEPARATELY_CHECKED = frozenset(
    {"text_content", "indexed_date", "has_thumbnail", "earlier", "earlier_left_out"}
)


def has_different_text(
    stores: Stores, row: DerivativeRow, kind: DerivativeKind, fixity: FixityRow
) -> bool:
    """Whether the index has another text of a file than was noted; False where it has another version."""
    if kind.indexed is None:
        return False
    id_ = kind.indexed.get_id(row)
    document = stores.index.get([id_]).get(id_)
    if document is None or document.sha1hex != row.sha1hex:
        return False
    text = encode_text(document.text_content)
    return build_fixity(row.sha1hex, fixity.part, text) != fixity


# Whether the books say of each derivative what its row shows: it was read, and it was kept.


ACCOUNTED = frozenset({str(Verdict.DONE), str(Verdict.QUARANTINED)})
"""What explains that a row is there: it was written, or something failed after it was."""


def check_endings(records: Records, started_at: datetime) -> Iterator[AuditFault]:
    """The faults of all derivatives that nobody is working on."""
    for first in iter_kinds_with_rows():
        kinds = [kind for kind in KINDS if kind.row is first.row]
        steps = {step for kind in kinds for step in kind.sinks}.union(
            *(kind.reading.steps for kind in kinds if kind.reading)
        )
        rows = (row for row in records.find(first.row) if row.updated <= started_at)
        for some in iter_chunks(rows):
            where = {"about": [row.sha1hex for row in some]}
            said: dict[str, list[DispositionRow]] = defaultdict(list)
            busy = set()
            for one in records.find(DispositionRow, where):
                if one.is_open:
                    busy.add(one.about)
                if one.step in steps:
                    said[one.about or ""].append(one)
            settled = [row for row in some if row.sha1hex not in busy]
            for row in settled:
                yield from _check_sink_written(kinds, first, row, said[row.sha1hex])
            for kind in kinds:
                if kind.reading:
                    yield from _read(records, kind, kind.reading, settled, said)


def _check_sink_written(
    kinds: Sequence[DerivativeKind],
    first: DerivativeKind,
    row: DerivativeRow,
    dispositions: Sequence[DispositionRow],
) -> Iterator[AuditFault]:
    """What a row shows, its sink has written."""
    for kind in kinds:
        if kind is not first and not kind.list_blobs(row):
            continue
        if not any(one.step in kind.sinks and one.verdict in ACCOUNTED for one in dispositions):
            sinks = " or ".join(kind.sinks)
            told = f"{row.sha1hex} has its {kind.title} in {row.TABLE}, and {sinks} is not done with it"
            yield AuditFault(AuditCheck.ENDING, row.sha1hex, told, step=kind.step)


def _read(
    records: Records,
    kind: DerivativeKind,
    reading: RereadPlan,
    rows: Sequence[DerivativeRow],
    text: dict[str, list[DispositionRow]],
) -> Iterator[AuditFault]:
    """How reading a file ended is what the status of its row says."""
    unread = []
    for row in rows:
        ended = [one for one in text[row.sha1hex] if one.step in reading.steps]
        if not ended:
            unread.append(row.sha1hex)
        elif told := _compare_ending(row, reading, ended):
            yield AuditFault(AuditCheck.ENDING, row.sha1hex, told, step=reading.step)
    owners = {one.sha1hex: one.capture_id for one in records.get(FileMetaRow, unread)}
    for sha1hex in unread:
        told = f"{sha1hex} has its {kind.title}, and no message about it is on the books of {reading.step}"
        yield AuditFault(AuditCheck.WAY, owners.get(sha1hex, sha1hex), told, step=reading.step)


def _compare_ending(
    row: DerivativeRow, reading: RereadPlan, ending: Sequence[DispositionRow]
) -> str | None:
    kept = row.status in reading.kept_statuses
    if any(one.verdict == Verdict.DONE for one in ending):
        if kept:
            return None
        return f"{reading.step} is done with {row.sha1hex}, and its status is {row.status}"
    last = max(ending, key=lambda one: one.settled_at or one.promised_at)
    # What was read before and failed when it was read again keeps its older row.
    if kept and row.updated >= (last.settled_at or last.promised_at):
        return (
            f"{reading.step} ended as {last.verdict} with {row.sha1hex}, and its status is"
            f" {row.status}"
        )
    return None
