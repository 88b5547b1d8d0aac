"""persist_file: write down a file and its capture, and send what is new to the readers of its kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from fonds.formats.journal import F_C, FILE_CDX, FILE_META, alternate_key, file_cells, row_key
from fonds.formats.placing import (
    cdx_row,
    first_cells,
    indexed_key,
    later_cells,
    noted_record_id,
    revisit_rows,
)
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import (
    Reason,
    deferred,
    dropped,
    kept_without_text,
)
from fonds.model.file import (
    FileMeta,
    Identified,
    Kind,
    RevisitReference,
    Unextracted,
    Unindexed,
    Unparsed,
)
from fonds.model.keys import sha1_base32
from fonds.model.paper import Ungrobided, UnreadArticle
from fonds.model.rows import CaptureRightsRow, CdxRow, FileMetaRow, TakedownRow
from fonds.model.step import Output, Result
from fonds.model.story import Unarchived
from fonds.ports import Records, Table
from fonds.ports.rights import capture_rights_row, rights_of_row
from fonds.ports.walking import walk_pages
from fonds.steps.intake.capture_count import (
    adopt_crawler_notes,
    crawler_files,
    note_capture_counts,
)
from fonds.steps.intake.host_files import forget_captures, forget_hosts, host_rows, note_hosts
from fonds.steps.intake.known_captures import (
    CapturePlan,
    plan_captures,
    row_place,
    write_captures,
)
from fonds.steps.intake.revisits import find_revisited

AGAIN_S = 2.0


def as_given(place: Place) -> Place:
    """Leave a place as it is, where no names are kept."""
    return place


EMITS = (
    Output(Unextracted),
    Output(Ungrobided),
    Output(Unparsed),
    Output(Unarchived),
    Output(UnreadArticle),
    Output(Unindexed),
)


@dataclass(frozen=True, slots=True)
class PersistFile:
    """The first capture of a file owns it; later ones are noted beside it and end as duplicates."""

    table: Table
    records: Records
    journal: str
    copy_bodies: bool
    clock: Callable[[], datetime]
    named: Callable[[Place], Place] = as_given
    """Gives a place with its WARC's name for the path, as `WarcNames.named` does."""

    def __call__(self, items: Sequence[Identified]) -> list[Result]:
        """Idempotent: a capture seen again finds itself the owner and is sent on again. Of bytes that were
        taken down nothing stays written, whoever brings them.

        It is asked before the write and again behind it: a takedown says so before it purges, so that what
        it came too early to see is found here. What a killed process wrote goes when its message is back.
        """
        late = [one for one in items if _needs_original(one)]
        if not late:
            return self._results(items)
        # What they repeat may be in the same batch.
        plain = [one for one in items if not _needs_original(one)]
        results = dict(zip(map(id, plain), self._results(plain), strict=True))
        results |= dict(zip(map(id, late), map(self._revisit, late), strict=True))
        return [results[id(one)] for one in items]

    def _revisit(self, one: Identified) -> Result:
        """Note a revisit without a SHA-1 by the file it repeats; it waits while that may still come."""
        found = find_revisited(self.records, one.capture, one.refers_to or RevisitReference())
        if found.sha1hex is not None:
            digest = sha1_base32(bytes.fromhex(found.sha1hex))
            known = replace(one, capture=replace(one.capture, digest=digest), refers_to=None)
            return self._results([known])[0]
        if found.is_open:
            return Result(deferred(Reason.NOT_YET, "what it repeats is being read", AGAIN_S))
        return Result(dropped(Reason.REVISIT, "what it repeats is not here"))

    def _results(self, items: Sequence[Identified]) -> list[Result]:
        gone = self._taken_down(items)
        wanted = [one for one in items if one.sha1hex not in gone]
        kept = dict(zip(map(id, wanted), self._persist(wanted), strict=True))
        gone |= self._taken_down(wanted)
        refused = Result(dropped(Reason.TAKEN_DOWN))
        results = [refused if one.sha1hex in gone else kept[id(one)] for one in items]
        if gone:
            changed = self._forget([one for one in items if one.sha1hex in gone])
            _index_again(results, items, changed)
        return results

    def _taken_down(self, items: Sequence[Identified]) -> set[str]:
        wanted = {sha1 for one in items if (sha1 := one.sha1hex) is not None}
        return {row.sha1hex for row in self.records.get(TakedownRow, sorted(wanted))}

    def _forget(self, items: Sequence[Identified]) -> set[str]:
        """Remove what was written of these, their files last, by which the rest is found. Return the SHA-1s
        of others whose captures have other rights now."""
        now = self.clock()
        places = [row for one in items for row in self._captures(one, now)]
        plan = plan_captures(self.records, places, {row.sha1hex: row.capture_id for row in places})
        gone = [*plan.rows.values(), *chain.from_iterable(plan.replaced.values())]
        self.records.delete(CdxRow, [row_place(row) for row in gone])
        self.records.delete(CaptureRightsRow, [one.capture.id for one in items])
        changed = forget_hosts(self.records, host_rows(items), now)
        sha1hexes = sorted({sha1 for one in items if (sha1 := one.sha1hex) is not None})
        for sha1hex in sha1hexes:
            for page in walk_pages(self.table, self.journal, row_key(sha1hex)):
                self.table.delete(self.journal, [key for key, _ in page])
        self.records.delete(FileMetaRow, sha1hexes)
        return changed - set(sha1hexes)

    def _persist(self, items: Sequence[Identified]) -> list[Result]:
        now = self.clock()
        files = [(one.capture, one.file) for one in items if one.file is not None]
        self.records.put([_file_row(capture, file, now) for capture, file in files], replace=False)
        known = self.records.get(FileMetaRow, [file.sha1 for _, file in files])
        owners = {row.sha1hex: row.capture_id for row in known}
        plan = plan_captures(
            self.records, [row for one in items for row in self._captures(one, now)], owners
        )
        mine = [file.sha1 for capture, file in files if owners[file.sha1] == capture.id]
        adopt_crawler_notes(self.table, self.records, self.journal, mine)
        noted, crawlers = self._noted(mine), crawler_files(self.records, mine)
        cells = [
            row
            for capture, file in files
            for row in self._cells(
                capture, file, noted, plan, first=owners[file.sha1] == capture.id
            )
        ]
        cells = [
            (key, {name: cell for name, cell in row.items() if name != F_C})
            if key.hex() in crawlers
            else (key, row)
            for key, row in cells
        ]
        self.table.put(self.journal, [*_displaced(noted, plan), *cells])
        if taken_over := _taken_over(plan):
            self.table.delete(self.journal, taken_over)
        write_captures(self.records, plan)
        forget_captures(self.records, list(chain.from_iterable(plan.replaced.values())))
        rights = [row for one in items if (row := _rights_row(one, now)) is not None]
        self.records.put([row for row in rights if row.capture_id not in plan.repeats])
        hosts = host_rows(one for one in items if one.capture.id not in plan.repeats)
        changed = note_hosts(self.records, hosts, now)
        firsts = set(owners.values())
        rows = [row for row in plan.rows.values() if row.capture_id not in firsts]
        again = {row.sha1hex for row in rows}
        again |= {row.sha1hex for row in chain.from_iterable(plan.replaced.values())}
        again |= {key.hex() for key, there in noted.items() if F_C in there}
        note_capture_counts(self.table, self.records, self.journal, sorted(again))
        stating = self._stating(items)
        results = [self._route(one, owners, stating) for one in items]
        _index_again(results, items, changed)
        return results

    def _stating(self, items: Sequence[Identified]) -> set[str]:
        """The ids of the captures of which something is stated about their use, by whomever."""
        rows = self.records.get(CaptureRightsRow, [one.capture.id for one in items])
        return {row.capture_id for row in rows if rights_of_row(row).statements}

    def _noted(self, sha1hexes: Sequence[str]) -> dict[bytes, dict[str, bytes]]:
        """What the table says of these files by now."""
        keys = [row_key(one) for one in sha1hexes]
        columns = [F_C, FILE_CDX, FILE_META]
        return self.table.get(self.journal, keys, columns) if keys else {}

    def _referenced(self, capture: Capture) -> bool:
        """Whether the body stays where it is: in somebody's WARC."""
        return capture.place.kind is PlaceKind.WARC and not self.copy_bodies

    def _cells(
        self,
        capture: Capture,
        file: FileMeta,
        noted: Mapping[bytes, Mapping[str, bytes]],
        plan: CapturePlan,
        *,
        first: bool,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """The crawler's own note of this very record may have told its id: that stays."""
        row = plan.rows.get(capture.id)
        place = replace(capture.place, path=row.warc_path) if row else capture.place
        if first:
            key, cells = row_key(file.sha1), file_cells(file)
            if row is not None:
                known = noted_record_id(noted.get(key, {}), capture.url, place)
                cells |= first_cells(capture, place, known)
            return [(key, cells)]
        if row is not None:
            key = alternate_key(file.sha1, capture.id)
            return [(key, later_cells(capture, place))]
        return []

    def _captures(self, one: Identified, now: datetime) -> list[CdxRow]:
        if one.file is None:
            return revisit_rows(one.capture, self.named(one.capture.place), now)
        if self._referenced(one.capture):
            return [cdx_row(one.capture, one.file, self.named(one.capture.place), now)]
        return []

    def _route(self, one: Identified, owners: dict[str, str], stating: set[str]) -> Result:
        """What comes of a capture. Of a later one the document learns what it states."""
        capture, file = one.capture, one.file
        sha1hex = one.sha1hex
        learns = (Unindexed(sha1hex),) if sha1hex is not None and capture.id in stating else ()
        if file is None:
            return Result(dropped(Reason.REVISIT, capture.digest or ""), learns, sha1hex)
        referenced = self._referenced(capture)
        owner = owners[file.sha1]
        if owner != capture.id:
            repeat = Unarchived(capture, file, repeat_of=owner)
            ended = dropped(Reason.DUPLICATE, f"same bytes as capture {owner}")
            return Result(ended, learns if referenced else (repeat, *learns))
        if file.kind is Kind.STORY:
            return Result(items=(Unparsed(capture, file, one.charset),))
        if file.kind is Kind.UNREAD:
            kept = kept_without_text(Reason.UNREAD_TYPE, file.mime)
            return Result(kept, () if referenced else (Unarchived(capture, file),))
        if file.kind is Kind.JATS:
            article = UnreadArticle(capture, file)
            return Result(items=(article,) if referenced else (article, Unarchived(capture, file)))
        work = (Unextracted(capture, file), Ungrobided(capture, file))
        return Result(items=work if referenced else (*work, Unarchived(capture, file)))


def _index_again(
    results: list[Result], items: Sequence[Identified], sha1hexes: Collection[str]
) -> None:
    """Hand on, with the first result, files whose documents may lack what is stated now."""
    if sha1hexes:
        first, others = results[0], tuple(map(Unindexed, sorted(sha1hexes)))
        about = items[0].sha1hex
        results[0] = replace(first, items=(*first.items, *others), about=about)


def _needs_original(one: Identified) -> bool:
    """Whether a revisit declares no SHA-1, so that the capture it refers to says which bytes it repeats."""
    return one.refers_to is not None and one.sha1hex is None


def _displaced(
    noted: Mapping[bytes, Mapping[str, bytes]], plan: CapturePlan
) -> list[tuple[bytes, dict[str, bytes]]]:
    """Captures that an index had told of before the files came: they are kept beside the first now.

    One that is the same as a capture of this batch is left out.
    """
    known = set(_taken_over(plan))
    return [
        (key, {FILE_CDX: cells[FILE_CDX]})
        for own, cells in noted.items()
        if FILE_CDX in cells
        and FILE_META not in cells
        and (key := indexed_key(own.hex(), cells)) not in known
    ]


def _taken_over(plan: CapturePlan) -> list[bytes]:
    """The rows of the table for captures whose place others take."""
    replaced = chain.from_iterable(plan.replaced.values())
    return sorted({alternate_key(row.sha1hex, row.capture_id) for row in replaced})


def _file_row(capture: Capture, file: FileMeta, now: datetime) -> FileMetaRow:
    return FileMetaRow(
        sha1hex=file.sha1,
        sha256hex=file.sha256,
        md5hex=file.md5,
        size_bytes=file.size,
        mimetype=file.mime,
        capture_id=capture.id,
        row_created=now,
    )


def _rights_row(one: Identified, now: datetime) -> CaptureRightsRow | None:
    """What is kept of what a capture states; None for one that states nothing or whose file is not known."""
    sha1hex = one.sha1hex
    return None if sha1hex is None else capture_rights_row(one.capture.id, sha1hex, one.rights, now)
