"""What was made of files: rows, blobs and documents, each as it was when it was written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from fonds.kinds import KINDS
from fonds.kinds.documents import Origin, text_bytes
from fonds.kinds.fixity import blob_of, fixity_of, fixity_of_row, has_fixity
from fonds.kinds.indexed import CurrentRow, Indexed
from fonds.kinds.kind import DerivativeKind
from fonds.kinds.stated_rights import rights_of_files, with_rights
from fonds.library.checks.fault import Check, Fault
from fonds.library.checks.under_way import worked_on
from fonds.library.chunks import chunks
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError
from fonds.model.rights import Rights
from fonds.model.rows import FixityRow, Row
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records, Stores

Rows = Sequence[DerivativeRow]


def derivatives(stores: Stores, began: datetime) -> Iterator[Fault]:
    """The faults of all kinds. What somebody is working on just now is left alone."""
    seen = set()
    for kind in KINDS:
        rows = (row for row in stores.records.find(kind.row) if row.updated <= began)
        first = kind.row.TABLE not in seen
        seen.add(kind.row.TABLE)
        for some in chunks(rows):
            found = [
                *_blobs(stores, kind, some),
                *_cells(stores, kind, some),
                *_rows(stores.records, kind, some),
                *_series(stores.records, kind, some),
            ]
            if first:
                found += _with_fixity(stores, kind, some)
            busy = worked_on(stores.records, {fault.subject for fault in found})
            yield from (fault for fault in found if fault.subject not in busy)
            yield from _indexed(stores, kind, some, began)


def _blobs(stores: Stores, kind: DerivativeKind, rows: Rows) -> Iterator[Fault]:
    """The blobs the rows promise are there."""
    keys = {key: row.sha1hex for row in rows for key in kind.blobs(row)}
    there = stores.blobs.exists(sorted(keys)) if keys else set()
    for key in sorted(keys.keys() - there):
        yield Fault(Check.BLOB, keys[key], f"blob {key} is missing")


def _cells(stores: Stores, kind: DerivativeKind, rows: Rows) -> Iterator[Fault]:
    """The cells the rows promise are there."""
    promised = {row.sha1hex: columns for row in rows if (columns := kind.cells(row))}
    if not promised:
        return
    wanted = sorted({column for columns in promised.values() for column in columns})
    there = stores.table.get(stores.journal, [bytes.fromhex(key) for key in promised], wanted)
    for key, columns in sorted(promised.items()):
        found = there.get(bytes.fromhex(key), {})
        if absent := [column for column in columns if column not in found]:
            told = f"the row of {key} in the table {stores.journal} lacks {', '.join(absent)}"
            yield Fault(Check.ROW, key, told)


def _rows(records: Records, kind: DerivativeKind, rows: Rows) -> Iterator[Fault]:
    """The rows of other tables that the rows promise are there, as they were promised."""
    promised: dict[type[Row], dict[tuple[object, ...], tuple[str, Row]]] = defaultdict(dict)
    for row in rows:
        for one in kind.rows(row):
            promised[type(one)][_key(one)] = (row.sha1hex, one)
    for table, wanted in promised.items():
        keys: list[object] = [key if len(key) > 1 else key[0] for key in wanted]
        there = {_key(one): one for one in records.get(table, keys)}
        for key, (sha1hex, one) in sorted(wanted.items()):
            if there.get(key) != one:
                yield Fault(
                    Check.ROW,
                    sha1hex,
                    f"a row of {table.TABLE} is missing: {', '.join(map(str, key))}",
                )


def _series(records: Records, kind: DerivativeKind, rows: Rows) -> Iterator[Fault]:
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
            yield Fault(Check.ROW, row.sha1hex, f"{told} {row.TABLE}")


def _key(row: Row) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in row.KEY)


def _with_fixity(stores: Stores, kind: DerivativeKind, rows: Rows) -> Iterator[Fault]:
    """Rows are what was noted, blobs have the length that was."""
    if not has_fixity(kind.row):
        return
    parts = known_fixity(stores.records, [row.sha1hex for row in rows])
    for row in rows:
        yield from _row_unlike(row, parts[row.sha1hex].get(row.TABLE))
    if not any(one.has_blobs for one in KINDS if one.row is kind.row):
        return
    noted = [one for of_file in parts.values() for one in of_file.values()]
    keys = {key: one for one in noted if (key := blob_of(one)) is not None}
    promised = {
        key: row.sha1hex
        for one in KINDS
        if one.row is kind.row
        for row in rows
        for key in one.blobs(row)
    }
    for key in sorted(promised.keys() - keys.keys()):
        yield Fault(Check.ROW, promised[key], f"blob {key} has no fixity")
    sizes = stores.blobs.sizes(sorted(keys)) if keys else {}
    for key, fixity in sorted(keys.items()):
        size_bytes = sizes.get(key)
        if size_bytes is None and key not in promised:
            yield Fault(Check.BLOB, fixity.sha1hex, f"blob {key} is missing")
        elif size_bytes is not None and size_bytes != fixity.size_bytes:
            told = f"blob {key} has {size_bytes} bytes and was written with {fixity.size_bytes}"
            yield Fault(Check.BLOB, fixity.sha1hex, told)


def _row_unlike(row: DerivativeRow, fixity: FixityRow | None) -> Iterator[Fault]:
    name = f"the row {row.sha1hex} of {row.TABLE}"
    if fixity is None:
        yield Fault(Check.ROW, row.sha1hex, f"{name} has no fixity")
    elif fixity != fixity_of_row(row):
        yield Fault(Check.ROW, row.sha1hex, f"{name} is not as it was written")


def known_fixity(records: Records, sha1hexes: Sequence[str]) -> dict[str, dict[str, FixityRow]]:
    """The fixity of these files, by file and part."""
    parts: dict[str, dict[str, FixityRow]] = defaultdict(dict)
    for fixity in records.find(FixityRow, {"sha1hex": list(sha1hexes)}) if sha1hexes else ():
        parts[fixity.sha1hex][fixity.part] = fixity
    return parts


def _indexed(stores: Stores, kind: DerivativeKind, rows: Rows, began: datetime) -> Iterator[Fault]:
    """Each document that should be is in the index, made of the file it is to be made of."""
    if kind.indexed is None:
        return
    ids = sorted({kind.indexed.id_of(row) for row in rows})
    # The index first: a row that came in between is younger than `began`.
    try:
        there = stores.index.get(ids)
    except ConfigurationError as error:
        yield Fault(Check.DOCUMENT, "", f"{len(ids)} documents cannot be read: {error}")
        return
    wanted = kind.indexed.current(stores.records, ids)
    rights = rights_of_files(stores.records, [row.sha1hex for row in wanted.values()])
    found = []
    for id_, current in sorted(wanted.items()):
        if max(one.updated for one in (current.row, *current.earlier)) > began:
            continue
        if told := _differs(kind, kind.indexed, current, rights[current.sha1hex], there.get(id_)):
            found.append((current.sha1hex, Fault(Check.DOCUMENT, id_, told)))
    for id_ in sorted(there.keys() - wanted.keys()):
        told = f"{kind.title} {id_} is in the index and is not to be there"
        found.append((there[id_].sha1hex, Fault(Check.DOCUMENT, id_, told)))
    busy = worked_on(stores.records, {sha1hex for sha1hex, _ in found})
    yield from (fault for sha1hex, fault in found if sha1hex not in busy)


def _differs(
    kind: DerivativeKind,
    one: Indexed,
    current: CurrentRow,
    rights: Rights,
    document: IndexDocument | None,
) -> str | None:
    """What is wrong with a document, but for its text: that is compared by the deep audit."""
    row = current.row
    id_ = one.id_of(row)
    if document is None:
        return f"{kind.title} {id_} is not in the index"
    if document.sha1hex != row.sha1hex:
        return f"{kind.title} {id_} is in the index as {document.sha1hex}, not {row.sha1hex}"
    origin = Origin(document.url, document.canonical_domain, document.collection, document.captured)
    text = text_bytes(document.text_content)
    made = with_rights(one.document(row, text, origin), rights)
    names = [
        name
        for name in IndexDocument.__slots__
        if name not in _TOLD_ELSEWHERE and getattr(made, name) != getattr(document, name)
    ]
    if names:
        return (
            f"{kind.title} {id_} is in the index with another {', '.join(names)} than its row has"
        )
    kept = [(version.sha1hex, version.captured, version.title) for version in document.earlier]
    if kept != [(each.sha1hex, each.captured, each.title) for each in current.earlier]:
        return f"{kind.title} {id_} is in the index with other earlier versions than there are"
    return None


_TOLD_ELSEWHERE = frozenset(
    {"text_content", "indexed_date", "has_thumbnail", "earlier", "earlier_left_out"}
)


def text_differs(
    stores: Stores, row: DerivativeRow, kind: DerivativeKind, fixity: FixityRow
) -> bool:
    """Whether the index has another text of a file than was noted; False where it has another version."""
    if kind.indexed is None:
        return False
    id_ = kind.indexed.id_of(row)
    document = stores.index.get([id_]).get(id_)
    if document is None or document.sha1hex != row.sha1hex:
        return False
    text = text_bytes(document.text_content)
    return fixity_of(row.sha1hex, fixity.part, text) != fixity
