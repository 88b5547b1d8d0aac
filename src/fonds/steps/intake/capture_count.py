"""The note of a file's first capture, `f:c`: kept where a crawler wrote it, with the count of captures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fonds.formats.journal import F_C, FILE_META, older_key, read_first_seen, recounted, row_key
from fonds.model.rows import CdxRow, CrawlerCountRow
from fonds.ports import Records, Table

ROUNDS_MAX = 10
"""Others may write this often in between."""


def adopt_crawler_notes(
    table: Table, records: Records, journal: str, sha1hexes: Collection[str]
) -> None:
    """Remember which of these files a crawler noted before Fonds knew them, and its count.

    Call it before anything of a new file is written; again is harmless. The note is `f:c` in the row of the
    file, or in the row `sha1:BASE32` that Heritrix writes, from which it is copied.
    """
    wanted = _unknown(records, sorted(set(sha1hexes)))
    keys = {row_key(one): one for one in wanted}
    older = {older_key(one): one for one in wanted}
    there = table.get(journal, [*keys, *older], [F_C, FILE_META]) if wanted else {}
    described = {one for key, one in keys.items() if FILE_META in there.get(key, {})}
    notes = {one: there[key][F_C] for key, one in older.items() if F_C in there.get(key, {})}
    copied = {one: cell for one, cell in notes.items() if F_C not in there.get(row_key(one), {})}
    notes |= {one: there[key][F_C] for key, one in keys.items() if F_C in there.get(key, {})}
    rows = [
        CrawlerCountRow(one, count)
        for one, cell in notes.items()
        if one not in described and (count := _count(cell)) is not None
    ]
    if not rows:
        return
    kept = {row.sha1hex for row in rows}
    if cells := [(row_key(one), {F_C: cell}) for one, cell in copied.items() if one in kept]:
        table.put(journal, cells)
    records.put(rows, replace=False)


def note_no_crawler(records: Records, sha1hexes: Collection[str]) -> None:
    """Remember of files without a crawler's note that there was none, where they may have no row of `cdx`.

    Their `f:c` would be taken for a crawler's afterwards.
    """
    if sha1hexes:
        records.put([CrawlerCountRow(one, 0) for one in sorted(set(sha1hexes))], replace=False)


def crawler_files(records: Records, sha1hexes: Collection[str]) -> set[str]:
    """Return those files whose `f:c` is a crawler's: it stays but for its count."""
    return {
        row.sha1hex for row in records.get(CrawlerCountRow, sorted(set(sha1hexes))) if row.count
    }


def capture_counts(
    records: Records, notes: Mapping[str, bytes], leaving: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Count the captures of files, given their `f:c`: rows of `cdx`, and those a crawler counted before.

    The capture the crawler noted counts once, also when it has a row by now. `leaving` gives by SHA-1 the
    number of rows that are about to go.
    """
    counts = {
        sha1hex: count
        for (sha1hex,), count in records.count(CdxRow, ("sha1hex",), {"sha1hex": [*notes]}).items()
    }
    for sha1hex, count in (leaving or {}).items():
        counts[sha1hex] = counts.get(sha1hex, 0) - count
    totals = {one: counts.get(one, 1) for one in notes}
    for row in records.get(CrawlerCountRow, [*notes]):
        if not row.count:
            continue
        known = _has_row(records, row.sha1hex, notes[row.sha1hex])
        totals[row.sha1hex] = row.count + counts.get(row.sha1hex, 0) - known
    return totals


def note_capture_counts(
    table: Table,
    records: Records,
    journal: str,
    sha1hexes: Sequence[str],
    leaving: Mapping[str, int] | None = None,
) -> None:
    """Count the captures of these files, revisits too, as `cdx` has them; the same however often it is done.

    `leaving` is as for `capture_counts`: counted before its rows go, a file has the right count also when
    this process is killed right behind that.

    A count is written only where the cell is as it was read: a place another writes meanwhile stays. Who
    wrote looks again: of several who note captures of one file at the same moment the last to write sees
    the rows of all others. The row a crawler reads, `sha1:BASE32`, gets the same count.
    """
    wanted = sorted(set(sha1hexes))
    older = {older_key(one): one for one in crawler_files(records, wanted)}
    keys = {row_key(one): one for one in wanted} | older
    for _ in range(ROUNDS_MAX):
        there = table.get(journal, sorted(keys), [F_C]) if keys else {}
        if not there:
            return
        totals = capture_counts(
            records, {keys[key]: row[F_C] for key, row in there.items()}, leaving
        )
        counted = [
            (key, {F_C: after})
            for key, row in there.items()
            if (after := recounted(row[F_C], totals[keys[key]])) != row[F_C]
        ]
        if not counted:
            return
        table.put(journal, counted, before={key: there[key][F_C] for key, _ in counted})
        keys = {key: keys[key] for key, _ in counted}


def _unknown(records: Records, sha1hexes: Sequence[str]) -> list[str]:
    """Those files of which nothing is in the records yet."""
    if not sha1hexes:
        return []
    indexed = records.count(CdxRow, ("sha1hex",), {"sha1hex": sha1hexes})
    known = {one for (one,) in indexed}
    known |= {row.sha1hex for row in records.get(CrawlerCountRow, sha1hexes)}
    return [one for one in sha1hexes if one not in known]


def _count(cell: bytes) -> int | None:
    """The count in a crawler's note, 1 where it has none; None for a note that cannot be read."""
    try:
        seen = read_first_seen({F_C: cell})
    except ValueError:
        return None
    return None if seen is None else seen.count or 1


def _has_row(records: Records, sha1hex: str, cell: bytes) -> bool:
    """Whether the capture a note speaks of has a row in `cdx`."""
    try:
        seen = read_first_seen({F_C: cell})
    except ValueError:
        return False
    if seen is None or seen.warc is None or seen.offset is None:
        return False
    rows = records.find(CdxRow, {"sha1hex": sha1hex, "warc_offset": seen.offset})
    return any(row.warc_path.rpartition("/")[2] == seen.warc for row in rows)
