"""Repair of derivatives (texts, thumbnails, metadata): restores texts from the full-text index, or
reads the file again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fonds.audit.derivatives import ACCOUNTED, load_fixity
from fonds.audit.fault import RepairAct
from fonds.audit.places import ARCHIVE_BODY
from fonds.audit.repair.context import RepairContext
from fonds.audit.repair.plan import RepairItem
from fonds.derivatives.documents import build_text_blob, encode_text
from fonds.derivatives.fixity import (
    TEXT,
    build_fixity,
    build_row_fixity,
    get_blob_key,
    has_fixity,
)
from fonds.derivatives.index_update import iter_complete_documents
from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.kinds import KINDS, iter_kinds_with_rows
from fonds.model.disposition import Verdict
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import DispositionRow, FileMetaRow, FixityRow

RereadFiles = Callable[[DerivativeKind, frozenset[str]], None]
"""Function that sends files to be read again for a derivative kind, even if results of
them exist.
"""


def rewrite_endings(context: RepairContext) -> None:
    """Correct dispositions in the ledger that contradict the stores, as the repair plan
    lists them.
    """
    for items in context.plan.iter_items(RepairAct.END):
        for item in items:
            if item.step == ARCHIVE_BODY:
                _rewrite_archived_endings(context, item)
            else:
                _rewrite_sink_endings(context, item)


def _rewrite_archived_endings(context: RepairContext, item: RepairItem) -> None:
    where = {"entry_id": item.subject, "step": ARCHIVE_BODY}
    rows = list(context.stores.records.find(DispositionRow, where))
    if not rows:
        context.plan.add_item(RepairAct.SEND, item.subject, message=item.message)
    for row in rows:
        _mark_done(context, row, item.message)


def _rewrite_sink_endings(context: RepairContext, item: RepairItem) -> None:
    """Mark a storing step (sink) as done for one file whose result is in the stores.

    `item`: names the file and the step.

    Changes the last message about the file at this step. If the derivative row shows a failed
    extraction, or the step had no message about the file, the repair plan gets an item to read the
    file again instead.
    """
    records, sha1hex = context.stores.records, item.subject
    rows = list(records.find(DispositionRow, {"about": sha1hex, "step": item.step}))
    reread_kinds = [
        kind for kind in iter_kinds_with_rows() if kind.reading and kind.reading.step == item.step
    ]
    has_failed = any(
        derivative.status not in kind.reading.kept_statuses
        for kind in reread_kinds
        if kind.reading
        for derivative in records.get(kind.row, [sha1hex])
    )
    if has_failed or not rows:
        context.plan.add_item(RepairAct.READ, sha1hex, message=item.message)
        return
    last = max(rows, key=lambda row: row.settled_at or row.promised_at)
    if reread_kinds or last.verdict not in ACCOUNTED:
        _mark_done(context, last, item.message)


def _mark_done(context: RepairContext, row: DispositionRow, text: str) -> None:
    now = context.clock()
    done_row = DispositionRow(
        message_id=row.message_id,
        pipeline=row.pipeline,
        step=row.step,
        entry_id=row.entry_id,
        parent_id=row.parent_id,
        parent_step=row.parent_step,
        verdict=str(Verdict.DONE),
        is_open=False,
        reason=None,
        detail=f"corrected by repair; before: {row.verdict} {row.reason or ''}",
        about=row.about,
        attempt=row.attempt,
        promised_at=row.promised_at,
        settled_at=now,
    )
    context.stores.ledger.write([done_row])
    message = f"{row.message_id} is done at {row.step} again: {text}"
    context.record_act(RepairAct.END, row.entry_id, row.about, message)


def rebuild_derivatives(
    context: RepairContext, kinds: Sequence[DerivativeKind], reread_files: RereadFiles
) -> None:
    """Restore the derivatives of the files in the repair plan, for those kinds that the pipeline
    can read.

    `kinds`: these derivative kinds.
    `reread_files`: sends files to be read again.

    Texts that are intact in the full-text index are restored from it. All other files are read
    again. Files whose bytes are missing are reported.
    """
    for items in context.plan.iter_items(RepairAct.READ):
        remaining = {item.subject for item in items} - set(
            _restore_texts_from_index(context, items)
        )
        files = {
            row.sha1hex: row for row in context.stores.records.get(FileMetaRow, sorted(remaining))
        }
        readable = [
            sha1hex for sha1hex in sorted(remaining) if _can_be_read(context, sha1hex, files)
        ]
        for kind in kinds:
            sha1hexes = [key for key in readable if files[key].mimetype in kind.mimetypes]
            for sha1hex in sha1hexes:
                _remove_row(context, kind, sha1hex)
                context.record_file_act(
                    RepairAct.READ, sha1hex, f"reading {sha1hex} again for {kind.name}"
                )
            if sha1hexes:
                reread_files(kind, frozenset(sha1hexes))


def _can_be_read(context: RepairContext, sha1hex: str, files: dict[str, FileMetaRow]) -> bool:
    if sha1hex in files and context.find_body(sha1hex) is not None:
        return True
    context.give_up(sha1hex, f"cannot read {sha1hex} again: its bytes are missing")
    return False


def _remove_row(context: RepairContext, kind: DerivativeKind, sha1hex: str) -> None:
    """Delete the derivative row of a file if it differs from its fixity (recorded size and
    SHA-256).

    A changed row could conflict with the new result.
    """
    records = context.stores.records
    fixity = load_fixity(records, [sha1hex])[sha1hex]
    for row in records.get(kind.row, [sha1hex]):
        if has_fixity(kind.row) and fixity.get(row.TABLE) != build_row_fixity(row):
            records.delete(kind.row, [sha1hex])
            records.delete(FixityRow, [(sha1hex, row.TABLE)])


def _restore_texts_from_index(context: RepairContext, items: Sequence[RepairItem]) -> Iterator[str]:
    """Restore missing text blobs from the full-text index. Yield the SHA-1s of the restored files.

    Only files without any other fault are restored. The text in the index must match its fixity
    (recorded size and SHA-256).
    """
    blobs, index = context.stores.blobs, context.stores.index
    for item in items:
        sha1hex, key = item.subject, build_text_blob_key(item.subject)
        has_other_faults = any(
            other_item.subject == sha1hex and f"blob {key}" not in other_item.message
            for other_item in items
        )
        fixity = load_fixity(context.stores.records, [sha1hex])[sha1hex].get(TEXT)
        if (
            has_other_faults
            or fixity is None
            or f"blob {key}" not in item.message
            or get_blob_key(fixity) != key
        ):
            continue
        for kind in iter_kinds_with_rows():
            for row in context.stores.records.get(kind.row, [sha1hex]) if kind.indexed else ():
                id_ = kind.indexed.get_id(row) if kind.indexed else ""
                document = index.get([id_]).get(id_)
                text = encode_text(document.text_content) if document else b""
                if document is not None and build_fixity(sha1hex, TEXT, text) == fixity:
                    blobs.put([build_text_blob(sha1hex, text)])
                    context.record_file_act(
                        RepairAct.READ, sha1hex, f"restored {key} from the index"
                    )
                    yield sha1hex


def reindex_documents(context: RepairContext) -> bool:
    """Index the missing or wrong documents of the repair plan again.

    Returns whether the whole index must be rebuilt, because a fault of the plan names no single
    document.
    """
    needs_rebuild = False
    for items in context.plan.iter_items(RepairAct.INDEX):
        keys = {item.subject for item in items}
        needs_rebuild = needs_rebuild or "" in keys
        for kind in KINDS:
            _index_keys(context, kind, sorted(keys - {""}))
    return needs_rebuild


def _index_keys(context: RepairContext, kind: DerivativeKind, keys: Sequence[str]) -> None:
    """Index documents of one derivative kind again, and delete documents of this kind that should
    not exist.

    `keys`: ids of documents or SHA-1s of files.
    """
    indexed_kind, stores = kind.indexed, context.stores
    if indexed_kind is None or not keys:
        return
    files = [key for key in keys if len(key) == 40]
    ids = {*keys, *(indexed_kind.get_id(row) for row in stores.records.get(kind.row, files))}
    current = indexed_kind.load_current(stores.records, sorted(ids))
    current_rows = [current_row for _, current_row in sorted(current.items())]
    for document in iter_complete_documents(
        indexed_kind, stores.records, stores.blobs, current_rows
    ):
        stores.index.put([document])
        message = f"indexed {kind.title} {document.id} again"
        context.record_file_act(RepairAct.INDEX, document.sha1hex, message)
    stray_documents = stores.index.get(sorted(ids - current.keys()))
    strays = [id_ for id_, document in stray_documents.items() if str(document.kind) == kind.name]
    if strays:
        stores.index.delete(sorted(strays))
        context.report(f"removed {len(strays)} unexpected documents from the index")
