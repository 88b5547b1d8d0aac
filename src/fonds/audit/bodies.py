"""The deep audit: every body, blob and document read and hashed; a share at a time, going on where it was.

It goes through the files by SHA-1. What it finds stays in `faults` until the file is looked at again and is
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import md5, sha256

from fonds.archive.table_places import find_recorded_id, is_indexed
from fonds.audit.derivatives import has_different_text, load_fixity
from fonds.audit.entries import find_open_files
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.audit.places import is_own_warc
from fonds.audit.rights import find_changed_rights, lacks_host_text
from fonds.derivatives.fixity import TEXT, build_fixity, get_blob_key
from fonds.derivatives.kinds import iter_kinds_with_rows
from fonds.model.archive import Payload
from fonds.model.capture import REVISIT_MIME, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import (
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.model.rows import (
    CdxRow,
    DeepAuditRow,
    FaultRow,
    FileMetaRow,
    FixityRow,
    HostCaptureRow,
)
from fonds.model.rows.row import Prefix
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_chunks
from fonds.rights.host_files import is_settled
from fonds.stores.journal_table.cells import F_C
from fonds.stores.journal_table.keys import build_row_key

NAME = "files"
TOGETHER = 50
_PARTS = [f"{number:02x}" for number in range(256)]
_MESSAGE_MAX_CHARS = 600


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
        state = self._load_state()
        left = count_max
        for some in iter_chunks(self._iter_files(state.last_key), TOGETHER):
            if self.stopping() or left == 0:
                return state
            taken = some if left is None else some[:left]
            left = None if left is None else left - len(taken)
            state = self._check_share(state, taken)
            tick(state)
            if len(taken) < len(some):
                return state
        state = replace(state, finished=True, updated=self.clock())
        self.stores.records.put([state])
        return state

    def recheck(self, sha1hexes: Sequence[str]) -> int:
        """Look at these files now, whatever the round is at; how many faults they have."""
        found = 0
        for start in range(0, len(sha1hexes), TOGETHER):
            keys = sha1hexes[start : start + TOGETHER]
            rows = self.stores.records.get(FileMetaRow, keys)
            faults = [fault for row in rows for fault in self._collect_faults(row)]
            self._replace_faults(keys, faults)
            found += len(faults)
        return found

    def _load_state(self) -> DeepAuditRow:
        now = self.clock()
        row = next(iter(self.stores.records.get(DeepAuditRow, [NAME])), None)
        if row is None or row.finished:
            return DeepAuditRow(NAME, "", 0, 0, now, now, finished=False)
        return row

    def _iter_files(self, last_key: str) -> Iterator[FileMetaRow]:
        """The files behind a key: a part of them has the first two digits, and is passed over to the key."""
        for part in _PARTS:
            if part >= last_key[:2]:
                for row in self.stores.records.find(FileMetaRow, {"sha1hex": Prefix(part)}):
                    if row.sha1hex > last_key:
                        yield row

    def _check_share(self, state: DeepAuditRow, rows: Sequence[FileMetaRow]) -> DeepAuditRow:
        faults = [fault for row in rows for fault in self._collect_faults(row)]
        self._replace_faults([row.sha1hex for row in rows], faults)
        state = replace(
            state,
            last_key=rows[-1].sha1hex,
            checked=state.checked + len(rows),
            found=state.found + len(faults),
            updated=self.clock(),
        )
        self.stores.records.put([state])
        return state

    def _replace_faults(self, keys: Sequence[str], faults: Sequence[AuditFault]) -> None:
        """What was found takes the place of what was found before."""
        records, now = self.stores.records, self.clock()
        fresh = {
            (one.subject, one.message[:_MESSAGE_MAX_CHARS]): FaultRow(
                one.subject, one.message[:_MESSAGE_MAX_CHARS], str(one.check), now
            )
            for one in faults
        }
        records.put(list(fresh.values()))
        before = [
            (row.subject, row.told) for row in records.find(FaultRow, {"subject": list(keys)})
        ]
        records.delete(FaultRow, [key for key in before if key not in fresh])

    def _collect_faults(self, row: FileMetaRow) -> list[AuditFault]:
        found = [
            *self._check_bodies(row),
            *self._check_host_files(row),
            *self._check_derivatives(row),
        ]
        if found and find_open_files(self.stores.records, [row.sha1hex]):
            # What is being made again may be half of one and half of the other.
            return []
        return found

    def _check_bodies(self, row: FileMetaRow) -> Iterator[AuditFault]:
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
                yield AuditFault(AuditCheck.BODY, row.sha1hex, told)
                continue
            except StoreUnavailableError:
                raise
            except TransientError:
                # Somebody else's server; the next round asks again.
                continue
            if wrong := _compare_body(row, payload.body):
                told = f"file {row.sha1hex}: file_meta says another {wrong} than its bytes have"
                yield AuditFault(AuditCheck.FILE, row.sha1hex, told)
            if find_changed_rights(self.stores.records, cdx, payload) is not None:
                told = (
                    f"file {row.sha1hex}: the response at {place} states other rights than are kept"
                )
                yield AuditFault(AuditCheck.FILE, row.sha1hex, told)
            if is_own_warc(cdx.warc_path) and (
                said := self._find_wrong_record_id(row, cdx, place, payload)
            ):
                told = (
                    f"file {row.sha1hex} at {place}: f:c names the record {said}, which it is not"
                )
                yield AuditFault(AuditCheck.CELLS, row.sha1hex, told)

    def _check_host_files(self, row: FileMetaRow) -> Iterator[AuditFault]:
        """What the hosts of its captures say to crawlers, and what it says itself, if it is such a file."""
        if lacks_host_text(self.stores.records, row.mimetype, [row.sha1hex]):
            told = f"file {row.sha1hex}: the text of what a host says to crawlers is missing"
            yield AuditFault(AuditCheck.FILE, row.sha1hex, told)
        for some in iter_chunks(self.stores.records.find(HostCaptureRow, {"sha1hex": row.sha1hex})):
            if not is_settled(self.stores.records, some, self.clock()):
                told = f"file {row.sha1hex}: a robots.txt or tdmrep.json states other rights than are kept"
                yield AuditFault(AuditCheck.FILE, row.sha1hex, told)

    def _find_wrong_record_id(
        self, row: FileMetaRow, cdx: CdxRow, place: Place, payload: Payload
    ) -> str | None:
        """The id `f:c` gives a record that has another; None where it gives it none, as older rows do."""
        key = build_row_key(row.sha1hex)
        cells = self.stores.table.get(self.stores.journal, [key], [F_C]).get(key, {})
        said = find_recorded_id(cells, cdx.url, place)
        return None if payload.warc_headers.get("WARC-Record-ID") == f"<{said}>" else said

    def _check_derivatives(self, row: FileMetaRow) -> Iterator[AuditFault]:
        """What was made of the file, against its fixity."""
        parts = load_fixity(self.stores.records, [row.sha1hex])[row.sha1hex]
        for fixity in parts.values():
            key = get_blob_key(fixity)
            blob = self.stores.blobs.get(key) if key else None
            # What is missing is named by the audit that is not deep.
            if key and blob is not None and build_fixity(row.sha1hex, fixity.part, blob) != fixity:
                told = f"blob {key} does not hold what was written there"
                yield AuditFault(AuditCheck.BLOB, row.sha1hex, told)
        if TEXT in parts:
            yield from self._check_documents(row.sha1hex, parts[TEXT])

    def _check_documents(self, sha1hex: str, fixity: FixityRow) -> Iterator[AuditFault]:
        for kind in iter_kinds_with_rows():
            for made in self.stores.records.get(kind.row, [sha1hex]):
                if has_different_text(self.stores, made, kind, fixity):
                    told = f"{kind.title} {sha1hex} is in the index with another text than was kept"
                    yield AuditFault(AuditCheck.DOCUMENT, sha1hex, told)


def _compare_body(row: FileMetaRow, body: bytes) -> str:
    wrong = ["size"] if len(body) != row.size_bytes else []
    wrong += ["md5"] if md5(body).hexdigest() != row.md5hex else []  # noqa: S324 (as it is kept)
    wrong += ["sha256"] if sha256(body).hexdigest() != row.sha256hex else []
    return ", ".join(wrong)


def iter_remembered_faults(records: Records) -> Iterator[AuditFault]:
    """What the deep audit found and did not find mended since."""
    known = set(map(str, AuditCheck))
    for row in records.find(FaultRow):
        if row.check in known:
            yield AuditFault(AuditCheck(row.check), row.subject, row.told)
