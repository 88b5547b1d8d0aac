"""The deep audit: every body, blob and document read and hashed; a share at a time, going on where it was.

It goes through the files by SHA-1. What it finds stays in `faults` until the file is looked at again and is
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import md5, sha256

from fonds.formats.journal import F_C, row_key
from fonds.formats.placing import is_indexed, noted_record_id
from fonds.kinds import kinds_with_rows
from fonds.kinds.fixity import TEXT, blob_of, fixity_of
from fonds.library.checks.derivatives import known_fixity, text_differs
from fonds.library.checks.fault import Check, Fault
from fonds.library.checks.places import is_ours
from fonds.library.checks.rights import lacks_text, stated_otherwise
from fonds.library.checks.under_way import worked_on
from fonds.library.chunks import chunks
from fonds.model.archive import Payload
from fonds.model.capture import REVISIT_MIME, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, StoreUnavailableError, TransientError
from fonds.model.rows import CdxRow, DeepAuditRow, FaultRow, FileMetaRow, FixityRow, HostCaptureRow
from fonds.model.rows.row import Prefix
from fonds.ports import Records, Stores
from fonds.steps.intake.host_files import is_settled

NAME = "files"
TOGETHER = 50
_PARTS = [f"{number:02x}" for number in range(256)]
_TOLD_CHARS = 600


@dataclass(frozen=True, slots=True)
class DeepAudit:
    """Reads what there is of file after file. `clock` gives aware UTC, `stopping` says when to leave off."""

    stores: Stores
    clock: Callable[[], datetime]
    stopping: Callable[[], bool]

    def run(self, count_max: int | None, tick: Callable[[DeepAuditRow], None]) -> DeepAuditRow:
        """Go on with the round, or begin one, for `count_max` files (None: to its end); how far it is.

        `tick` is told after every fifty files. Killed at any moment, the next run goes on behind those that
        were told. Raises StoreUnavailableError when a store does not answer.
        """
        state = self._state()
        left = count_max
        for some in chunks(self._files(state.last_key), TOGETHER):
            if self.stopping() or left == 0:
                return state
            taken = some if left is None else some[:left]
            left = None if left is None else left - len(taken)
            state = self._share(state, taken)
            tick(state)
            if len(taken) < len(some):
                return state
        state = replace(state, finished=True, updated=self.clock())
        self.stores.records.put([state])
        return state

    def look_again(self, sha1hexes: Sequence[str]) -> int:
        """Look at these files now, whatever the round is at; how many faults they have."""
        found = 0
        for start in range(0, len(sha1hexes), TOGETHER):
            keys = sha1hexes[start : start + TOGETHER]
            rows = self.stores.records.get(FileMetaRow, keys)
            faults = [fault for row in rows for fault in self._faults(row)]
            self._remember(keys, faults)
            found += len(faults)
        return found

    def _state(self) -> DeepAuditRow:
        now = self.clock()
        row = next(iter(self.stores.records.get(DeepAuditRow, [NAME])), None)
        if row is None or row.finished:
            return DeepAuditRow(NAME, "", 0, 0, now, now, finished=False)
        return row

    def _files(self, last_key: str) -> Iterator[FileMetaRow]:
        """The files behind a key: a part of them has the first two digits, and is passed over to the key."""
        for part in _PARTS:
            if part >= last_key[:2]:
                for row in self.stores.records.find(FileMetaRow, {"sha1hex": Prefix(part)}):
                    if row.sha1hex > last_key:
                        yield row

    def _share(self, state: DeepAuditRow, rows: Sequence[FileMetaRow]) -> DeepAuditRow:
        faults = [fault for row in rows for fault in self._faults(row)]
        self._remember([row.sha1hex for row in rows], faults)
        state = replace(
            state,
            last_key=rows[-1].sha1hex,
            checked=state.checked + len(rows),
            found=state.found + len(faults),
            updated=self.clock(),
        )
        self.stores.records.put([state])
        return state

    def _remember(self, keys: Sequence[str], faults: Sequence[Fault]) -> None:
        """What was found takes the place of what was found before."""
        records, now = self.stores.records, self.clock()
        fresh = {
            (one.subject, one.told[:_TOLD_CHARS]): FaultRow(
                one.subject, one.told[:_TOLD_CHARS], str(one.check), now
            )
            for one in faults
        }
        records.put(list(fresh.values()))
        before = [
            (row.subject, row.told) for row in records.find(FaultRow, {"subject": list(keys)})
        ]
        records.delete(FaultRow, [key for key in before if key not in fresh])

    def _faults(self, row: FileMetaRow) -> list[Fault]:
        found = [*self._bodies(row), *self._hosts(row), *self._made(row)]
        if found and worked_on(self.stores.records, [row.sha1hex]):
            # What is being made again may be half of one and half of the other.
            return []
        return found

    def _bodies(self, row: FileMetaRow) -> Iterator[Fault]:
        """The bytes at every place of the file."""
        where = {"sha1hex": row.sha1hex}
        for cdx in self.stores.records.find(CdxRow, where):
            if cdx.mimetype == REVISIT_MIME:
                continue
            place = Place(PlaceKind.WARC, cdx.warc_path, cdx.warc_offset, cdx.warc_csize)
            try:
                payload = self.stores.archive.read(place, row.sha1hex)
            except PermanentError as error:
                if is_indexed(cdx.capture_id) and error.reason is Reason.MISSING_SOURCE:
                    # An index names it, and its WARC was never read here.
                    continue
                told = f"file {row.sha1hex} cannot be read at {place}: {error.detail}"
                yield Fault(Check.BODY, row.sha1hex, told)
                continue
            except StoreUnavailableError:
                raise
            except TransientError:
                # Somebody else's server; the next round asks again.
                continue
            if wrong := _unlike(row, payload.body):
                told = f"file {row.sha1hex}: file_meta says another {wrong} than its bytes have"
                yield Fault(Check.FILE, row.sha1hex, told)
            if stated_otherwise(self.stores.records, cdx, payload) is not None:
                told = (
                    f"file {row.sha1hex}: the response at {place} states other rights than are kept"
                )
                yield Fault(Check.FILE, row.sha1hex, told)
            if is_ours(cdx.warc_path) and (said := self._misnamed(row, cdx, place, payload)):
                told = (
                    f"file {row.sha1hex} at {place}: f:c names the record {said}, which it is not"
                )
                yield Fault(Check.CELLS, row.sha1hex, told)

    def _hosts(self, row: FileMetaRow) -> Iterator[Fault]:
        """What the hosts of its captures say to crawlers, and what it says itself, if it is such a file."""
        if lacks_text(self.stores.records, row.mimetype, [row.sha1hex]):
            told = f"file {row.sha1hex}: the text of what a host says to crawlers is missing"
            yield Fault(Check.FILE, row.sha1hex, told)
        for some in chunks(self.stores.records.find(HostCaptureRow, {"sha1hex": row.sha1hex})):
            if not is_settled(self.stores.records, some, self.clock()):
                told = f"file {row.sha1hex}: a robots.txt or tdmrep.json states other rights than are kept"
                yield Fault(Check.FILE, row.sha1hex, told)

    def _misnamed(
        self, row: FileMetaRow, cdx: CdxRow, place: Place, payload: Payload
    ) -> str | None:
        """The id `f:c` gives a record that has another; None where it gives it none, as older rows do."""
        key = row_key(row.sha1hex)
        cells = self.stores.table.get(self.stores.journal, [key], [F_C]).get(key, {})
        said = noted_record_id(cells, cdx.url, place)
        return None if payload.warc_headers.get("WARC-Record-ID") == f"<{said}>" else said

    def _made(self, row: FileMetaRow) -> Iterator[Fault]:
        """What was made of the file, against its fixity."""
        parts = known_fixity(self.stores.records, [row.sha1hex])[row.sha1hex]
        for fixity in parts.values():
            key = blob_of(fixity)
            blob = self.stores.blobs.get(key) if key else None
            # What is missing is named by the audit that is not deep.
            if key and blob is not None and fixity_of(row.sha1hex, fixity.part, blob) != fixity:
                told = f"blob {key} does not hold what was written there"
                yield Fault(Check.BLOB, row.sha1hex, told)
        if TEXT in parts:
            yield from self._documents(row.sha1hex, parts[TEXT])

    def _documents(self, sha1hex: str, fixity: FixityRow) -> Iterator[Fault]:
        for kind in kinds_with_rows():
            for made in self.stores.records.get(kind.row, [sha1hex]):
                if text_differs(self.stores, made, kind, fixity):
                    told = f"{kind.title} {sha1hex} is in the index with another text than was kept"
                    yield Fault(Check.DOCUMENT, sha1hex, told)


def _unlike(row: FileMetaRow, body: bytes) -> str:
    wrong = ["size"] if len(body) != row.size_bytes else []
    wrong += ["md5"] if md5(body).hexdigest() != row.md5hex else []  # noqa: S324 (as it is kept)
    wrong += ["sha256"] if sha256(body).hexdigest() != row.sha256hex else []
    return ", ".join(wrong)


def remembered(records: Records) -> Iterator[Fault]:
    """What the deep audit found and did not find mended since."""
    known = set(map(str, Check))
    for row in records.find(FaultRow):
        if row.check in known:
            yield Fault(Check(row.check), row.subject, row.told)
