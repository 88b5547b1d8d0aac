"""persist_file: write down a file and its capture, and send what is new to the readers of its kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from fonds.archive.table_places import (
    build_cdx_row,
    build_first_cells,
    build_indexed_key,
    build_later_cells,
    build_revisit_rows,
    find_recorded_id,
)
from fonds.ingest.known_captures import CapturePlan, build_cdx_key, plan_captures, write_captures
from fonds.ingest.revisits import find_revisited
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason, defer, drop, keep_without_text
from fonds.model.file import (
    FileMeta,
    IdentifiedCapture,
    Kind,
    RevisitReference,
    UnextractedPdf,
    UnindexedFile,
    UnparsedPage,
)
from fonds.model.keys import encode_sha1_base32
from fonds.model.paper import UngrobidedPdf, UnreadArticle
from fonds.model.rows import CaptureRightsRow, CdxRow, CrawlerCountRow, FileMetaRow, TakedownRow
from fonds.model.step import Output, Result
from fonds.model.story import UnarchivedBody
from fonds.ports import Records, Table
from fonds.ports.scan import iter_pages
from fonds.rights.capture_rights import build_capture_rights_row, parse_row_rights
from fonds.rights.host_files import (
    build_host_rows,
    remove_capture_rights,
    remove_host_rows,
    write_host_rows,
)
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_CDX,
    FILE_META,
    build_file_cells,
    read_first_seen,
    set_dupe_count,
)
from fonds.stores.journal_table.keys import build_alternate_key, build_old_key, build_row_key

# The note of a file's first capture, `f:c`: kept where a crawler wrote it, with the count of captures.


ROUNDS_MAX = 10
"""Others may write this often in between."""


def record_crawler_counts(
    table: Table, records: Records, journal: str, sha1hexes: Collection[str]
) -> None:
    """Remember which of these files a crawler noted before Fonds knew them, and its count.

    Call it before anything of a new file is written; again is harmless. The note is `f:c` in the row of the
    file, or in the row `sha1:BASE32` that Heritrix writes, from which it is copied.
    """
    wanted = _find_unknown(records, sorted(set(sha1hexes)))
    keys = {build_row_key(one): one for one in wanted}
    older = {build_old_key(one): one for one in wanted}
    there = table.get(journal, [*keys, *older], [F_C, FILE_META]) if wanted else {}
    described = {one for key, one in keys.items() if FILE_META in there.get(key, {})}
    notes = {one: there[key][F_C] for key, one in older.items() if F_C in there.get(key, {})}
    copied = {
        one: cell for one, cell in notes.items() if F_C not in there.get(build_row_key(one), {})
    }
    notes |= {one: there[key][F_C] for key, one in keys.items() if F_C in there.get(key, {})}
    rows = [
        CrawlerCountRow(one, count)
        for one, cell in notes.items()
        if one not in described and (count := _count(cell)) is not None
    ]
    if not rows:
        return
    kept = {row.sha1hex for row in rows}
    if cells := [(build_row_key(one), {F_C: cell}) for one, cell in copied.items() if one in kept]:
        table.put(journal, cells)
    records.put(rows, replace=False)


def record_no_crawler(records: Records, sha1hexes: Collection[str]) -> None:
    """Remember of files without a crawler's note that there was none, where they may have no row of `cdx`.

    Their `f:c` would be taken for a crawler's afterwards.
    """
    if sha1hexes:
        records.put([CrawlerCountRow(one, 0) for one in sorted(set(sha1hexes))], replace=False)


def find_crawler_files(records: Records, sha1hexes: Collection[str]) -> set[str]:
    """Return those files whose `f:c` is a crawler's: it stays but for its count."""
    return {
        row.sha1hex for row in records.get(CrawlerCountRow, sorted(set(sha1hexes))) if row.count
    }


def count_captures(
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


def update_capture_counts(
    table: Table,
    records: Records,
    journal: str,
    sha1hexes: Sequence[str],
    leaving: Mapping[str, int] | None = None,
) -> None:
    """Count the captures of these files, revisits too, as `cdx` has them; the same however often it is done.

    `leaving` is as for `count_captures`: counted before its rows go, a file has the right count also when
    this process is killed right behind that.

    A count is written only where the cell is as it was read: a place another writes meanwhile stays. Who
    wrote looks again: of several who note captures of one file at the same moment the last to write sees
    the rows of all others. The row a crawler reads, `sha1:BASE32`, gets the same count.
    """
    wanted = sorted(set(sha1hexes))
    older = {build_old_key(one): one for one in find_crawler_files(records, wanted)}
    keys = {build_row_key(one): one for one in wanted} | older
    for _ in range(ROUNDS_MAX):
        there = table.get(journal, sorted(keys), [F_C]) if keys else {}
        if not there:
            return
        totals = count_captures(
            records, {keys[key]: row[F_C] for key, row in there.items()}, leaving
        )
        counted = [
            (key, {F_C: after})
            for key, row in there.items()
            if (after := set_dupe_count(row[F_C], totals[keys[key]])) != row[F_C]
        ]
        if not counted:
            return
        table.put(journal, counted, where_equal={key: there[key][F_C] for key, _ in counted})
        keys = {key: keys[key] for key, _ in counted}


def _find_unknown(records: Records, sha1hexes: Sequence[str]) -> list[str]:
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


RETRY_S = 2.0


def return_place(place: Place) -> Place:
    """Leave a place as it is, where no names are kept."""
    return place


EMITS = (
    Output(UnextractedPdf),
    Output(UngrobidedPdf),
    Output(UnparsedPage),
    Output(UnarchivedBody),
    Output(UnreadArticle),
    Output(UnindexedFile),
)


@dataclass(frozen=True, slots=True)
class PersistFileStep:
    """The first capture of a file owns it; later ones are noted beside it and end as duplicates."""

    table: Table
    records: Records
    journal: str
    copies_bodies: bool
    clock: Callable[[], datetime]
    name_place: Callable[[Place], Place] = return_place
    """Gives a place with its WARC's name for the path, as `WarcNames.named` does."""

    def __call__(self, items: Sequence[IdentifiedCapture]) -> list[Result]:
        """Idempotent: a capture seen again finds itself the owner and is sent on again. Of bytes that were
        taken down nothing stays written, whoever brings them.

        It is asked before the write and again behind it: a takedown says so before it purges, so that what
        it came too early to see is found here. What a killed process wrote goes when its message is back.
        """
        late = [one for one in items if _is_missing_sha1(one)]
        if not late:
            return self._build_results(items)
        # What they repeat may be in the same batch.
        plain = [one for one in items if not _is_missing_sha1(one)]
        results = dict(zip(map(id, plain), self._build_results(plain), strict=True))
        results |= dict(zip(map(id, late), map(self._persist_revisit, late), strict=True))
        return [results[id(one)] for one in items]

    def _persist_revisit(self, identified: IdentifiedCapture) -> Result:
        """Note a revisit without a SHA-1 by the file it repeats; it waits while that may still come."""
        found = find_revisited(
            self.records, identified.capture, identified.refers_to or RevisitReference()
        )
        if found.sha1hex is not None:
            digest = encode_sha1_base32(bytes.fromhex(found.sha1hex))
            known = replace(
                identified, capture=replace(identified.capture, digest=digest), refers_to=None
            )
            return self._build_results([known])[0]
        if found.is_open:
            return Result(defer(Reason.NOT_YET, "what it repeats is being read", RETRY_S))
        return Result(drop(Reason.REVISIT, "what it repeats is not here"))

    def _build_results(self, items: Sequence[IdentifiedCapture]) -> list[Result]:
        gone = self._find_taken_down(items)
        wanted = [one for one in items if one.sha1hex not in gone]
        kept = dict(zip(map(id, wanted), self._persist(wanted), strict=True))
        gone |= self._find_taken_down(wanted)
        refused = Result(drop(Reason.TAKEN_DOWN))
        results = [refused if one.sha1hex in gone else kept[id(one)] for one in items]
        if gone:
            changed = self._remove_written([one for one in items if one.sha1hex in gone])
            _request_reindex(results, items, changed)
        return results

    def _find_taken_down(self, items: Sequence[IdentifiedCapture]) -> set[str]:
        wanted = {sha1 for one in items if (sha1 := one.sha1hex) is not None}
        return {row.sha1hex for row in self.records.get(TakedownRow, sorted(wanted))}

    def _remove_written(self, items: Sequence[IdentifiedCapture]) -> set[str]:
        """Remove what was written of these, their files last, by which the rest is found. Return the SHA-1s
        of others whose captures have other rights now."""
        now = self.clock()
        places = [row for one in items for row in self._list_captures(one, now)]
        plan = plan_captures(self.records, places, {row.sha1hex: row.capture_id for row in places})
        gone = [*plan.rows.values(), *chain.from_iterable(plan.replaced.values())]
        self.records.delete(CdxRow, [build_cdx_key(row) for row in gone])
        self.records.delete(CaptureRightsRow, [one.capture.id for one in items])
        changed = remove_host_rows(self.records, build_host_rows(items), now)
        sha1hexes = sorted({sha1 for one in items if (sha1 := one.sha1hex) is not None})
        for sha1hex in sha1hexes:
            for page in iter_pages(self.table, self.journal, build_row_key(sha1hex)):
                self.table.delete(self.journal, [key for key, _ in page])
        self.records.delete(FileMetaRow, sha1hexes)
        return changed - set(sha1hexes)

    def _persist(self, items: Sequence[IdentifiedCapture]) -> list[Result]:
        now = self.clock()
        files = [(one.capture, one.file) for one in items if one.file is not None]
        self.records.put(
            [_build_file_row(capture, file, now) for capture, file in files], replace=False
        )
        known = self.records.get(FileMetaRow, [file.sha1 for _, file in files])
        owners = {row.sha1hex: row.capture_id for row in known}
        plan = plan_captures(
            self.records, [row for one in items for row in self._list_captures(one, now)], owners
        )
        mine = [file.sha1 for capture, file in files if owners[file.sha1] == capture.id]
        record_crawler_counts(self.table, self.records, self.journal, mine)
        noted, crawlers = self._load_cells(mine), find_crawler_files(self.records, mine)
        cells = [
            row
            for capture, file in files
            for row in self._build_cells(
                capture, file, noted, plan, first=owners[file.sha1] == capture.id
            )
        ]
        cells = [
            (key, {name: cell for name, cell in row.items() if name != F_C})
            if key.hex() in crawlers
            else (key, row)
            for key, row in cells
        ]
        self.table.put(self.journal, [*_build_displaced_rows(noted, plan), *cells])
        if taken_over := _list_replaced_keys(plan):
            self.table.delete(self.journal, taken_over)
        write_captures(self.records, plan)
        remove_capture_rights(self.records, list(chain.from_iterable(plan.replaced.values())))
        rights = [row for one in items if (row := _build_rights_row(one, now)) is not None]
        self.records.put([row for row in rights if row.capture_id not in plan.repeats])
        hosts = build_host_rows(one for one in items if one.capture.id not in plan.repeats)
        changed = write_host_rows(self.records, hosts, now)
        firsts = set(owners.values())
        rows = [row for row in plan.rows.values() if row.capture_id not in firsts]
        again = {row.sha1hex for row in rows}
        again |= {row.sha1hex for row in chain.from_iterable(plan.replaced.values())}
        again |= {key.hex() for key, there in noted.items() if F_C in there}
        update_capture_counts(self.table, self.records, self.journal, sorted(again))
        stating = self._find_stating(items)
        results = [self._route(one, owners, stating) for one in items]
        _request_reindex(results, items, changed)
        return results

    def _find_stating(self, items: Sequence[IdentifiedCapture]) -> set[str]:
        """The ids of the captures of which something is stated about their use, by whomever."""
        rows = self.records.get(CaptureRightsRow, [one.capture.id for one in items])
        return {row.capture_id for row in rows if parse_row_rights(row).statements}

    def _load_cells(self, sha1hexes: Sequence[str]) -> dict[bytes, dict[str, bytes]]:
        """What the table says of these files by now."""
        keys = [build_row_key(one) for one in sha1hexes]
        columns = [F_C, FILE_CDX, FILE_META]
        return self.table.get(self.journal, keys, columns) if keys else {}

    def _is_referenced(self, capture: Capture) -> bool:
        """Whether the body stays where it is: in somebody's WARC."""
        return capture.place.kind is PlaceKind.WARC and not self.copies_bodies

    def _build_cells(
        self,
        capture: Capture,
        file: FileMeta,
        stored_cells: Mapping[bytes, Mapping[str, bytes]],
        plan: CapturePlan,
        *,
        first: bool,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """The crawler's own note of this very record may have told its id: that stays."""
        row = plan.rows.get(capture.id)
        place = replace(capture.place, path=row.warc_path) if row else capture.place
        if first:
            key, cells = build_row_key(file.sha1), build_file_cells(file)
            if row is not None:
                known = find_recorded_id(stored_cells.get(key, {}), capture.url, place)
                cells |= build_first_cells(capture, place, known)
            return [(key, cells)]
        if row is not None:
            key = build_alternate_key(file.sha1, capture.id)
            return [(key, build_later_cells(capture, place))]
        return []

    def _list_captures(self, identified: IdentifiedCapture, now: datetime) -> list[CdxRow]:
        if identified.file is None:
            return build_revisit_rows(
                identified.capture, self.name_place(identified.capture.place), now
            )
        if self._is_referenced(identified.capture):
            return [
                build_cdx_row(
                    identified.capture,
                    identified.file,
                    self.name_place(identified.capture.place),
                    now,
                )
            ]
        return []

    def _route(
        self, identified: IdentifiedCapture, owners: dict[str, str], stating: set[str]
    ) -> Result:
        """What comes of a capture. Of a later one the document learns what it states."""
        capture, file = identified.capture, identified.file
        sha1hex = identified.sha1hex
        learns = (UnindexedFile(sha1hex),) if sha1hex is not None and capture.id in stating else ()
        if file is None:
            return Result(drop(Reason.REVISIT, capture.digest or ""), learns, sha1hex)
        referenced = self._is_referenced(capture)
        owner = owners[file.sha1]
        if owner != capture.id:
            repeat = UnarchivedBody(capture, file, repeat_of=owner)
            ended = drop(Reason.DUPLICATE, f"same bytes as capture {owner}")
            return Result(ended, learns if referenced else (repeat, *learns))
        if file.kind is Kind.STORY:
            return Result(items=(UnparsedPage(capture, file, identified.charset),))
        if file.kind is Kind.UNREAD:
            kept = keep_without_text(Reason.UNREAD_TYPE, file.mime)
            return Result(kept, () if referenced else (UnarchivedBody(capture, file),))
        if file.kind is Kind.JATS:
            article = UnreadArticle(capture, file)
            return Result(
                items=(article,) if referenced else (article, UnarchivedBody(capture, file))
            )
        work = (UnextractedPdf(capture, file), UngrobidedPdf(capture, file))
        return Result(items=work if referenced else (*work, UnarchivedBody(capture, file)))


def _request_reindex(
    results: list[Result], items: Sequence[IdentifiedCapture], sha1hexes: Collection[str]
) -> None:
    """Hand on, with the first result, files whose documents may lack what is stated now."""
    if sha1hexes:
        first, others = results[0], tuple(map(UnindexedFile, sorted(sha1hexes)))
        about = items[0].sha1hex
        results[0] = replace(first, items=(*first.items, *others), about=about)


def _is_missing_sha1(identified: IdentifiedCapture) -> bool:
    """Whether a revisit declares no SHA-1, so that the capture it refers to says which bytes it repeats."""
    return identified.refers_to is not None and identified.sha1hex is None


def _build_displaced_rows(
    stored_cells: Mapping[bytes, Mapping[str, bytes]], plan: CapturePlan
) -> list[tuple[bytes, dict[str, bytes]]]:
    """Captures that an index had told of before the files came: they are kept beside the first now.

    One that is the same as a capture of this batch is left out.
    """
    known = set(_list_replaced_keys(plan))
    return [
        (key, {FILE_CDX: cells[FILE_CDX]})
        for own, cells in stored_cells.items()
        if FILE_CDX in cells
        and FILE_META not in cells
        and (key := build_indexed_key(own.hex(), cells)) not in known
    ]


def _list_replaced_keys(plan: CapturePlan) -> list[bytes]:
    """The rows of the table for captures whose place others take."""
    replaced = chain.from_iterable(plan.replaced.values())
    return sorted({build_alternate_key(row.sha1hex, row.capture_id) for row in replaced})


def _build_file_row(capture: Capture, file: FileMeta, now: datetime) -> FileMetaRow:
    return FileMetaRow(
        sha1hex=file.sha1,
        sha256hex=file.sha256,
        md5hex=file.md5,
        size_bytes=file.size,
        mimetype=file.mime,
        capture_id=capture.id,
        row_created=now,
    )


def _build_rights_row(identified: IdentifiedCapture, now: datetime) -> CaptureRightsRow | None:
    """What is kept of what a capture states; None for one that states nothing or whose file is not known."""
    sha1hex = identified.sha1hex
    return (
        None
        if sha1hex is None
        else build_capture_rights_row(identified.capture.id, sha1hex, identified.rights, now)
    )
