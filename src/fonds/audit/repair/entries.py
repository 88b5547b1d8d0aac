"""Repair of the ledger: restores missing entries and inputs, and sends entries through the pipeline
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fonds.audit.fault import RepairAct
from fonds.audit.repair.context import RepairContext, build_place, strip_member
from fonds.audit.repair.plan import RepairItem
from fonds.model.capture import REVISIT_MIME, Capture, parse_datetime14
from fonds.model.entry import CAPTURE, Entry, build_capture_entry
from fonds.model.errors import (
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.model.message import Subscription
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, InputRow
from fonds.pipelines.runtime.intake import Intake
from fonds.pipelines.runtime.quarantine import BATCH_MAX

FAILED_OUTCOMES = ("quarantined", "pending")


def reenter_entries(context: RepairContext) -> None:
    """Restore missing entries of the repair plan in the ledger, and correct their wrong
    locations.
    """
    for items in context.plan.iter_items(RepairAct.ENTRY):
        source_entries = {
            item.id: item for item in context.reread_entries({item.subject for item in items})
        }
        for item in items:
            _reenter_entry(context, item, source_entries.get(item.subject))


def _reenter_entry(context: RepairContext, item: RepairItem, source_entry: Entry | None) -> None:
    records, key = context.stores.records, item.subject
    pipelines = [item.pipeline] if item.pipeline else _list_pipelines(context, key)
    entry = source_entry or _find_place_entry(context, key)
    if entry is None or not pipelines:
        context.give_up(
            key, (f"cannot restore entry {key}: nothing refers to its input or pipeline")
        )
        return
    for pipeline in pipelines:
        entry_row = next(iter(records.get(EntryRow, [(key, pipeline)])), None)
        if entry_row is None:
            context.stores.ledger.enter([], [entry.build_row(pipeline, context.clock())], ())
            context.plan.add_item(RepairAct.COUNT, key)
            dispositions = records.find(DispositionRow, {"entry_id": key, "pipeline": pipeline})
            sha1hex = next((row.about for row in dispositions if row.about), None)
            context.record_act(
                RepairAct.ENTRY, key, sha1hex, (f"restored entry {key} ({pipeline}) in the ledger")
            )
        elif entry_row.place != entry.place:
            records.change(EntryRow, [(key, pipeline)], {"place": entry.place})
            message = f"entry {key} ({pipeline}) has its location {entry.place} again"
            context.record_act(RepairAct.ENTRY, key, None, message)


def _list_pipelines(context: RepairContext, key: str) -> list[str]:
    """List the pipelines in which an entry had messages, or else the pipelines that read its input.

    `key`: id of the entry.
    """
    records = context.stores.records
    rows = records.find(DispositionRow, {"entry_id": key}, count_max=1000)
    inputs = records.find(InputRow, {"input_id": key.partition("-")[0]}, count_max=100)
    return sorted({row.pipeline for row in rows}) or sorted({row.pipeline for row in inputs})


def _find_place_entry(context: RepairContext, key: str) -> Entry | None:
    """Build the entry of a capture from its `cdx` row, for a capture whose input is gone.

    Returns None if the capture has no `cdx` row. The SQL table `cdx` has one row per capture in a
    WARC.
    """
    records = context.stores.records
    entry_row = next(records.find(EntryRow, {"entry_id": key}, count_max=1), None)
    for row in records.find(CdxRow, {"capture_id": key}):
        captured_at = parse_datetime14(row.datetime)
        input_id = entry_row.input_id if entry_row else key.partition("-")[0]
        collection = entry_row.collection if entry_row else "default"
        record_type = "revisit" if row.mimetype == REVISIT_MIME else "response"
        capture = Capture(
            key, input_id, build_place(row), row.url, captured_at, record_type, collection
        )
        return build_capture_entry(capture)
    return None


def count_inputs(context: RepairContext) -> None:
    """Restore the rows of missing inputs in the repair plan, and correct wrong entry counts of
    inputs.
    """
    for items in context.plan.iter_items(RepairAct.INPUT):
        for item in items:
            _count_input(context, item)


def _count_input(context: RepairContext, item: RepairItem) -> None:
    records, where = context.stores.records, (item.subject, item.pipeline)
    input_row = next(iter(records.get(InputRow, [where])), None)
    input_filters = {"input_id": item.subject, "pipeline": item.pipeline}
    sample = next(records.find(EntryRow, input_filters, count_max=1), None)
    path = input_row.path if input_row else strip_member(sample.place or "") if sample else ""
    collection = sample.collection if sample else "default"
    row = _read_input(context, path, collection, item) if path else None
    if row is None:
        count = records.count(EntryRow, (), input_filters)[()]
        if input_row is None:
            row = InputRow(
                input_id=item.subject,
                path=path,
                kind="file",
                fingerprint="",
                position=0,
                entries=count,
                tally={},
                tally_count=0,
                finished=True,
                error="its file is missing",
                updated=context.clock(),
                pipeline=item.pipeline,
            )
        else:
            missing = input_row.entries - count
            message = (
                f"{missing} entries of {path} are missing from the ledger, and the "
                "file is missing or has changed"
            )
            context.give_up(item.subject, message)
            return
    context.stores.ledger.enter([row], [], ())
    message = f"{path}: {row.entries} entries, after reading it again"
    context.record_act(RepairAct.INPUT, sample.entry_id if sample else "", None, message)


def _read_input(
    context: RepairContext, path: str, collection: str, item: RepairItem
) -> InputRow | None:
    """Read an input to its end and return its row with the correct counts; None if `path` has no
    such input.

    `path`: file or folder in which the input may be found.
    `collection`: collection that its entries belong to.
    `item`: the input in the repair plan.

    Entries of the input that the ledger lacks are added to the repair plan, to be sent again.
    """
    source, records = context.open_source(Path(path), collection), context.stores.records
    for row in source.iter_inputs():
        if row.input_id != item.subject:
            continue
        tally: Counter[str] = Counter()
        count, page = 0, list[str]()
        for event in source.iter_entries(row):
            if isinstance(event, Entry):
                count += 1
                page.append(event.id)
                if len(page) >= BATCH_MAX:
                    _plan_missing_entries(
                        context, records.get(EntryRow, _list_keys(page, item)), page, item
                    )
                    page = []
            elif isinstance(event, Mapping):
                tally.update(event)
        _plan_missing_entries(context, records.get(EntryRow, _list_keys(page, item)), page, item)
        return replace(
            row,
            entries=count,
            tally=dict(tally),
            tally_count=tally.total(),
            finished=True,
            updated=context.clock(),
            pipeline=item.pipeline,
        )
    return None


def _list_keys(page: Sequence[str], item: RepairItem) -> list[tuple[str, str]]:
    return [(key, item.pipeline) for key in page]


def _plan_missing_entries(
    context: RepairContext, existing: Sequence[EntryRow], page: Sequence[str], item: RepairItem
) -> None:
    known_ids = {row.entry_id for row in existing}
    for key in page:
        if key not in known_ids:
            context.plan.add_item(
                RepairAct.SEND, key, item.pipeline, message="it is missing from the ledger"
            )


def resend_entries(
    context: RepairContext, intake: Intake, readers: Mapping[str, Subscription]
) -> None:
    """Send the entries in the repair plan through one pipeline again.

    `intake`: intake of the pipeline.
    `readers`: subscriptions of the pipeline, by step.

    An item of the plan names an entry, or a step whose messages are in no queue or quarantine.
    Items of other pipelines are skipped.
    """
    pipeline = intake.gate.pipeline
    for items in context.plan.iter_items(RepairAct.SEND):
        own_items = [item for item in items if item.pipeline in ("", pipeline)]
        for item in own_items:
            if item.subject == f"{pipeline}.{item.step}" and item.step in readers:
                _send_step(context, intake, readers[item.step], item)
        ids = [item.subject for item in own_items if item.subject != f"{pipeline}.{item.step}"]
        _send(context, intake, sorted(set(ids)))


def _send_step(
    context: RepairContext, intake: Intake, reader: Subscription, item: RepairItem
) -> None:
    """Send again the entries that have unfinished messages at a step, or quarantined messages that
    the quarantine of the step lacks.
    """
    records = context.stores.records
    step_filter = {"pipeline": item.pipeline, "step": item.step}
    quarantined_ids, deliveries = set[str](), []
    while received_messages := context.stores.queue.receive(reader.quarantine, BATCH_MAX, 0.0):
        quarantined_ids |= {delivery.message.id for delivery in received_messages}
        deliveries += received_messages
    context.stores.queue.release(deliveries)
    for where in ({"is_open": True}, {"verdict": "quarantined"}):
        page: list[str] = []
        for row in records.find(DispositionRow, {**step_filter, **where}):
            if row.message_id not in quarantined_ids:
                page.append(row.entry_id)
            if len(page) >= BATCH_MAX:
                _send(context, intake, page)
                page = []
        _send(context, intake, page)


def _send(context: RepairContext, intake: Intake, ids: Sequence[str]) -> None:
    pipeline = intake.gate.pipeline
    rows = {
        row.entry_id: row
        for row in context.stores.records.get(EntryRow, [(key, pipeline) for key in ids])
    }
    source_entries = (
        {source_entry.id: source_entry for source_entry in context.reread_entries(ids)}
        if ids
        else {}
    )
    entries = []
    for key in ids:
        row = rows.get(key)
        if row is None and (key not in source_entries or _is_in_other_pipeline(context, key)):
            continue
        if row is not None and row.kind != CAPTURE:
            context.give_up(
                key,
                (f"entry {key} came from another program, which has to put it on its topic again"),
            )
            continue
        entry = _choose_entry(context, key, source_entries.get(key), row)
        if entry is None:
            context.give_up(key, f"cannot send entry {key} again: its bytes are missing")
            continue
        entries.append(entry)
        context.record_act(
            RepairAct.SEND, key, None, (f"sent entry {key} through {pipeline} again")
        )
    intake.send_again(entries, "sent again by repair")


def _is_in_other_pipeline(context: RepairContext, key: str) -> bool:
    """Whether the ledger has an entry in any pipeline.

    `key`: id of the entry. The caller has found that the ledger lacks it in one pipeline.
    """
    return (
        next(context.stores.records.find(EntryRow, {"entry_id": key}, count_max=1), None)
        is not None
    )


def _choose_entry(
    context: RepairContext, key: str, entry: Entry | None, row: EntryRow | None
) -> Entry | None:
    """Choose what to send through the pipeline again for an entry; None to send nothing.

    `key`: id of the entry.
    `entry`: the entry as its input has it; None if the input is missing.
    `row`: row of the entry in the ledger; None if there is none.

    Returns `entry` if its bytes can be read, or else an entry for its archived capture if that can
    be read. If neither can be read, returns `entry` only if the ledger lacks it, if it has failed
    before, or if it has no result in the stores.
    """
    if entry is not None and _has_bytes(context, entry):
        return entry
    archived_entry = _find_place_entry(context, key)
    if archived_entry is not None and _has_bytes(context, archived_entry):
        return archived_entry
    may_fail = row is None or row.outcome in FAILED_OUTCOMES or not _has_output(context, key)
    return entry if may_fail else None


def _has_output(context: RepairContext, key: str) -> bool:
    """Whether an entry has a result in the stores.

    `key`: id of the entry.

    An entry with a result but without bytes must not be sent again: it would only be marked as
    failed.
    """
    records = context.stores.records
    rows = records.find(DispositionRow, {"entry_id": key}, count_max=1000)
    if any(row.about for row in rows):
        return True
    return next(records.find(CdxRow, {"capture_id": key}, count_max=1), None) is not None


def _has_bytes(context: RepairContext, entry: Entry) -> bool:
    item = entry.item
    if not isinstance(item, Capture):
        return True
    if item.damage is not None or item.record_type == "revisit":
        return True
    try:
        context.stores.archive.read(item.place)
    except StoreUnavailableError:
        raise
    except (PermanentError, TransientError):
        return False
    return True
