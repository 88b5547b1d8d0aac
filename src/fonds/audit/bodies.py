"""The deep audit: reads and hashes every body, blob and indexed text.

A round goes through all files in order of SHA-1, and can be interrupted and resumed. A fault stays
in the table `faults` until its file is checked again and is intact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import md5, sha256

from fonds.archive.table_places import find_recorded_id, is_indexed
from fonds.audit.captures import correct_row, describe_differences, is_own_warc
from fonds.audit.derivatives import has_different_text, load_fixity
from fonds.audit.entries import find_open_files
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.audit.rights import find_changed_rights, lacks_host_text
from fonds.derivatives.document_rows import IndexedKind
from fonds.derivatives.fixity import (
    CELL_FAMILIES,
    TEXT,
    build_cells_fixity,
    build_fixity,
    get_blob_key,
)
from fonds.derivatives.kind import DerivativeKind
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
    CaptureRightsRow,
    CdxRow,
    DeepAuditRow,
    FaultRow,
    FileMetaRow,
    FixityRow,
    HostCaptureRow,
)
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_chunks
from fonds.rights.host_files import is_settled
from fonds.stores.journal_table.cells import F_C
from fonds.stores.journal_table.keys import build_row_key

NAME = "files"
FILES_A_BATCH = 200
_MESSAGE_MAX_CHARS = 600


@dataclass(frozen=True, slots=True)
class DeepAudit:
    """Deep audit: reads and checks all stored contents of the files, one file after another.

    `clock`: returns the current time, aware UTC.
    `stopping`: returns true when the audit should stop.
    """

    stores: Stores
    clock: Callable[[], datetime]
    stopping: Callable[[], bool]

    def run(self, count_max: int | None, tick: Callable[[DeepAuditRow], None]) -> DeepAuditRow:
        """Check the next files of the current round, or begin a new round if the last one is
        finished.

        `count_max`: maximum number of files to check; None continues to the end of the round.
        `tick`: called with the progress of the round after each batch of up to 200 files.

        Returns the progress of the round: the SHA-1 of the last file, and the numbers of files and
        faults. If the process is killed, the next run continues after the last batch that was
        recorded. Raises StoreUnavailableError if a store does not respond.
        """
        state = self._load_state()
        remaining = count_max
        files = self.stores.records.find(FileMetaRow, after={"sha1hex": state.last_key})
        for page in iter_chunks(files, FILES_A_BATCH):
            if self.stopping() or remaining == 0:
                return state
            rows = page if remaining is None else page[:remaining]
            remaining = None if remaining is None else remaining - len(rows)
            state = self._check_share(state, rows)
            tick(state)
            if len(rows) < len(page):
                return state
        state = replace(state, finished=True, updated=self.clock())
        self.stores.records.put([state])
        return state

    def recheck(self, sha1hexes: Sequence[str]) -> int:
        """Check the files with these SHA-1s now. The progress of the current round does not change.

        Replaces the stored faults of the files. Returns the number of faults found.
        """
        fault_count = 0
        for start in range(0, len(sha1hexes), FILES_A_BATCH):
            keys = sha1hexes[start : start + FILES_A_BATCH]
            rows = self.stores.records.get(FileMetaRow, keys)
            faults = self._collect_faults(rows)
            self._replace_faults(keys, faults)
            fault_count += len(faults)
        return fault_count

    def _load_state(self) -> DeepAuditRow:
        now = self.clock()
        row = next(iter(self.stores.records.get(DeepAuditRow, [NAME])), None)
        if row is None or row.finished:
            return DeepAuditRow(NAME, "", 0, 0, now, now, finished=False)
        return row

    def _check_share(self, state: DeepAuditRow, rows: Sequence[FileMetaRow]) -> DeepAuditRow:
        faults = self._collect_faults(rows)
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
        """Replace the stored faults of the files with the SHA-1s `keys` by `faults`."""
        records, now = self.stores.records, self.clock()
        new_rows = {
            (fault.subject, fault.message[:_MESSAGE_MAX_CHARS]): FaultRow(
                fault.subject, fault.message[:_MESSAGE_MAX_CHARS], str(fault.check), now
            )
            for fault in faults
        }
        records.put(list(new_rows.values()))
        old_keys = [
            (row.subject, row.message) for row in records.find(FaultRow, {"subject": list(keys)})
        ]
        records.delete(FaultRow, [key for key in old_keys if key not in new_rows])

    def _collect_faults(self, rows: Sequence[FileMetaRow]) -> list[AuditFault]:
        """Check files and return their faults. A file that is being processed has none.

        Files with a fault are checked once more on their own: their rows may have changed since the
        rows of all files were read.
        """
        suspects = {fault.subject for fault in self._check_files(rows)}
        faults = []
        for row in rows:
            if row.sha1hex in suspects:
                file_faults = list(self._check_files([row]))
                # While a file is processed again, it may have old and new derivatives.
                if file_faults and not find_open_files(self.stores.records, [row.sha1hex]):
                    faults += file_faults
        return faults

    def _check_files(self, rows: Sequence[FileMetaRow]) -> Iterator[AuditFault]:
        yield from self._check_bodies(rows)
        yield from self._check_host_files(rows)
        yield from self._check_derivatives([row.sha1hex for row in rows])

    def _check_bodies(self, rows: Sequence[FileMetaRow]) -> Iterator[AuditFault]:
        """Read the bodies of files from every WARC record that their `cdx` rows give, and yield the
        faults.

        `rows`: rows of the files in `file_meta`.

        The SQL table `cdx` has one row per capture in a WARC.
        """
        records = self.stores.records
        files = {row.sha1hex: row for row in rows}
        for page in iter_chunks(records.find(CdxRow, {"sha1hex": list(files)})):
            rights_rows = records.get(CaptureRightsRow, [cdx.capture_id for cdx in page])
            rights = {row.capture_id: row for row in rights_rows}
            keys = {
                cdx.sha1hex: build_row_key(cdx.sha1hex)
                for cdx in page
                if is_own_warc(cdx.warc_path)
            }
            table_rows = self.stores.table.get(self.stores.journal, list(keys.values()), [F_C])
            for cdx in page:
                if cdx.mimetype != REVISIT_MIME:
                    row, key = files[cdx.sha1hex], keys.get(cdx.sha1hex, b"")
                    yield from self._check_capture(
                        row, cdx, rights.get(cdx.capture_id), table_rows.get(key, {})
                    )

    def _check_capture(
        self,
        row: FileMetaRow,
        cdx: CdxRow,
        rights: CaptureRightsRow | None,
        first_seen: Mapping[str, bytes],
    ) -> Iterator[AuditFault]:
        """Read the body of a file from the WARC record of one capture, and yield the faults.

        `row`: row of the file in `file_meta`.
        `cdx`: row of the capture.
        `rights`: stored rights of the capture.
        `first_seen`: the table cell `f:c` of the file, by column.

        Compares the bytes with the size and hashes in `row`, and the HTTP headers with the stored
        rights. For WARCs written by Fonds, also compares the record id with the table cell `f:c`.
        Skips missing WARCs known only from a CDX index, and WARCs on servers of others that do not
        respond. The table cell `f:c` describes the first capture of a file.
        """
        place = Place(PlaceKind.WARC, cdx.warc_path, cdx.warc_offset, cdx.warc_csize)
        try:
            payload = self.stores.archive.read(place, row.sha1hex)
        except PermanentError as error:
            if is_indexed(cdx.capture_id) and error.reason is Reason.MISSING_SOURCE:
                # The capture is known only from a CDX index, and Fonds never read its WARC.
                return
            message = f"cannot read file {row.sha1hex} at {place}: {error.detail}"
            yield AuditFault(AuditCheck.BODY, row.sha1hex, message)
            return
        except StoreUnavailableError:
            raise
        except TransientError:
            # The server of another organisation failed. The next round tries it again.
            return
        if differences := _compare_body(row, payload.body):
            message = f"file {row.sha1hex}: {differences} in file_meta does not match its bytes"
            yield AuditFault(AuditCheck.FILE, row.sha1hex, message)
        if find_changed_rights(rights, cdx, payload) is not None:
            message = (
                f"file {row.sha1hex}: the response at {place} states other rights than the records"
            )
            yield AuditFault(AuditCheck.FILE, row.sha1hex, message)
        if differences := describe_differences(cdx, correct_row(cdx, row, None, payload)):
            message = f"file {row.sha1hex}: the capture at {place} has in cdx {differences}"
            yield AuditFault(AuditCheck.CAPTURE, row.sha1hex, message)
        if is_own_warc(cdx.warc_path) and (
            record_id := _find_wrong_record_id(first_seen, cdx, place, payload)
        ):
            message = f"file {row.sha1hex} at {place}: f:c names the wrong record, {record_id}"
            yield AuditFault(AuditCheck.CELLS, row.sha1hex, message)

    def _check_host_files(self, rows: Sequence[FileMetaRow]) -> Iterator[AuditFault]:
        """Compare the stored rights of captures of files with robots.txt and tdmrep.json of their
        hosts.

        If a file itself is a robots.txt or tdmrep.json, also check that its text is stored. The
        captures are compared in pages. If a page disagrees, all its files have a fault.
        """
        records = self.stores.records
        for row in rows:
            if lacks_host_text(records, row.mimetype, [row.sha1hex]):
                message = (
                    f"file {row.sha1hex}: its stored robots.txt or tdmrep.json text is missing"
                )
                yield AuditFault(AuditCheck.FILE, row.sha1hex, message)
        captures = records.find(HostCaptureRow, {"sha1hex": [row.sha1hex for row in rows]})
        for page in iter_chunks(captures):
            if is_settled(records, page, self.clock()):
                continue
            for sha1hex in sorted({capture.sha1hex for capture in page}):
                message = (
                    f"file {sha1hex}: a robots.txt or tdmrep.json states other "
                    "rights than the records"
                )
                yield AuditFault(AuditCheck.FILE, sha1hex, message)

    def _check_derivatives(self, sha1hexes: Sequence[str]) -> Iterator[AuditFault]:
        """Compare the texts and thumbnails of files with their fixity (recorded size and SHA-256).

        The texts in the full-text index are compared with the fixity too. Missing blobs are
        reported by the normal audit.
        """
        texts: dict[str, FixityRow] = {}
        fixities = load_fixity(self.stores.records, sha1hexes)
        yield from self._check_cells(fixities)
        for sha1hex, parts in fixities.items():
            for fixity in parts.values():
                key = get_blob_key(fixity)
                if key is not None and self._is_changed(key, fixity):
                    message = f"blob {key} has changed since it was written"
                    yield AuditFault(AuditCheck.BLOB, sha1hex, message)
            if TEXT in parts:
                texts[sha1hex] = parts[TEXT]
        for kind in iter_kinds_with_rows():
            if kind.indexed is not None and texts:
                yield from self._check_documents(kind, kind.indexed, texts)

    def _check_cells(self, fixities: Mapping[str, Mapping[str, FixityRow]]) -> Iterator[AuditFault]:
        """Compare the cells of derivatives in the wide table with their fixity.

        `fixities`: fixity by SHA-1 of the file, then by part. The quick audit reports missing
        cells.
        """
        keys = {
            sha1hex: build_row_key(sha1hex)
            for sha1hex, parts in fixities.items()
            if not parts.keys().isdisjoint(CELL_FAMILIES)
        }
        table, journal = self.stores.table, self.stores.journal
        families = [f"{family}:" for family in CELL_FAMILIES]
        rows = table.get(journal, list(keys.values()), families) if keys else {}
        for sha1hex, key in keys.items():
            for family in CELL_FAMILIES:
                fixity = fixities[sha1hex].get(family)
                cells = {
                    column: value
                    for column, value in rows.get(key, {}).items()
                    if column.startswith(f"{family}:")
                }
                if fixity and cells and build_cells_fixity(sha1hex, cells) != fixity:
                    message = f"the cells of {family} in the table differ from those of {sha1hex}"
                    message += " when they were written"
                    yield AuditFault(AuditCheck.ROW, sha1hex, message)

    def _is_changed(self, key: str, fixity: FixityRow) -> bool:
        """Return whether a blob exists but has other bytes than its fixity records.

        A blob that exists and cannot be read is damaged, so it has changed too.
        """
        blob = self.stores.blobs.get(key)
        if blob is None:
            return bool(self.stores.blobs.filter_existing([key]))
        return build_fixity(fixity.sha1hex, fixity.part, blob) != fixity

    def _check_documents(
        self, kind: DerivativeKind, indexed: IndexedKind, texts: Mapping[str, FixityRow]
    ) -> Iterator[AuditFault]:
        """Compare the texts of files in the full-text index with the fixity of the texts.

        `texts`: fixity of the text by SHA-1 of the file.
        """
        columns = list(dict.fromkeys(["sha1hex", indexed.id_column]))
        # Counting by these columns loads no JSON.
        counts = self.stores.records.count(kind.row, columns, {"sha1hex": list(texts)})
        ids = {key[0]: key[-1] for key in counts}
        documents = self.stores.index.get(list(ids.values())) if ids else {}
        for sha1hex, id_ in ids.items():
            if has_different_text(documents.get(id_), texts[sha1hex]):
                message = f"{kind.title} {sha1hex} has another text in the index than in the blobs"
                yield AuditFault(AuditCheck.DOCUMENT, sha1hex, message)


def _find_wrong_record_id(
    first_seen: Mapping[str, bytes], cdx: CdxRow, place: Place, payload: Payload
) -> str | None:
    """Return the WARC record id in the cell `f:c` if the record of a capture has a different id,
    else None.

    `first_seen`: the cell `f:c` of the file, by column; empty if it has none.
    `cdx`: row of the capture.
    `place`: location of its WARC record.
    `payload`: the record, as read from that location.

    Also returns None if `f:c` gives no id for this capture. The table cell `f:c` describes the
    first capture of a file.
    """
    recorded_id = find_recorded_id(first_seen, cdx.url, place)
    return None if payload.warc_headers.get("WARC-Record-ID") == f"<{recorded_id}>" else recorded_id


def _compare_body(row: FileMetaRow, body: bytes) -> str:
    differences = ["size"] if len(body) != row.size_bytes else []
    differences += ["md5"] if md5(body).hexdigest() != row.md5hex else []  # noqa: S324 (as it is kept)
    differences += ["sha256"] if sha256(body).hexdigest() != row.sha256hex else []
    return ", ".join(differences)


def iter_remembered_faults(records: Records) -> Iterator[AuditFault]:
    """Iterate over the stored faults of the deep audit.

    A fault stays stored until the deep audit checks its file again and finds it intact.
    """
    check_names = set(map(str, AuditCheck))
    for row in records.find(FaultRow):
        if row.check in check_names:
            yield AuditFault(AuditCheck(row.check), row.subject, row.message)
