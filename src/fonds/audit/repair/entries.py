"""Repair of the ledger: restores missing entries, and sends entries through the pipeline again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.audit.fault import REPAIR, RepairAct
from fonds.audit.repair.captures import find_entries_of_record
from fonds.audit.repair.context import RepairContext, build_place
from fonds.audit.repair.links import LinkLists, rebuild_links
from fonds.audit.repair.plan import RepairItem
from fonds.model.capture import REVISIT_MIME, Capture, parse_datetime14
from fonds.model.entry import CAPTURE, LINK, Entry, build_capture_entry
from fonds.model.errors import (
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.model.message import Subscription
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FetchedPageRow,
    FileMetaRow,
    InputRow,
    Row,
)
from fonds.pipelines.runtime.intake import Intake
from fonds.pipelines.runtime.quarantine import BATCH_MAX

FAILED_OUTCOMES = ("quarantined", "pending")


def reenter_entries(context: RepairContext) -> None:
    """Restore missing entries of the repair plan in the ledger, and correct their wrong
    locations.

    An entry is restored only if its input contains it, or if the ledger has messages of it. A row
    that refers to an entry may itself be wrong.
    """
    planned_inputs: set[tuple[str, str]] = set()
    for items in context.plan.iter_items(RepairAct.ENTRY):
        source_entries = {
            item.id: item for item in context.reread_entries({item.subject for item in items})
        }
        for item in items:
            _reenter_entry(context, item, source_entries.get(item.subject), planned_inputs)


def _reenter_entry(
    context: RepairContext,
    item: RepairItem,
    source_entry: Entry | None,
    planned_inputs: set[tuple[str, str]],
) -> None:
    """Restore one entry or its location.

    `item`: the entry in the repair plan.
    `source_entry`: the entry as its input has it; None if its input is missing or has no such
        entry.
    `planned_inputs`: ids and pipelines of inputs that were added to the repair plan. It is updated.
    """
    records, key = context.stores.records, item.subject
    pipelines = [item.pipeline] if item.pipeline else _list_pipelines(context, key)
    entry = source_entry or _find_place_entry(context, key)
    if entry is None or not pipelines:
        if not _is_entered(context, item):
            if _is_referenced(context, key):
                context.give_up(
                    key, (f"cannot restore entry {key}: nothing refers to its input or pipeline")
                )
            return
        # Its location cannot be checked, but the row of its input can.
        pipelines = [item.pipeline]
    for pipeline in pipelines:
        entry_row = next(iter(records.get(EntryRow, [(key, pipeline)])), None)
        if entry_row is None and entry is not None:
            if not _has_entered(context, key, pipeline, is_in_input=source_entry is not None):
                message = f"cannot restore entry {key} ({pipeline}): only one row refers to it"
                context.give_up(key, f"{message}, which may be wrong")
                continue
            context.stores.ledger.enter([], [entry.build_row(pipeline, context.clock())], ())
            context.plan.add_item(RepairAct.COUNT, key)
            dispositions = records.find(DispositionRow, {"entry_id": key, "pipeline": pipeline})
            sha1hex = next((row.about for row in dispositions if row.about), None)
            context.record_act(
                RepairAct.ENTRY, key, sha1hex, (f"restored entry {key} ({pipeline}) in the ledger")
            )
        elif entry_row is not None:
            _restore_place(context, entry_row, entry, planned_inputs)


def _is_entered(context: RepairContext, item: RepairItem) -> bool:
    keys = [(item.subject, item.pipeline)]
    return bool(context.stores.records.get(EntryRow, keys))


def _is_referenced(context: RepairContext, key: str) -> bool:
    """Whether a row still refers to an entry, although the repair may have corrected some."""
    records = context.stores.records
    tables: list[tuple[type[Row], str]] = [
        (CdxRow, "capture_id"),
        (FileMetaRow, "capture_id"),
        (DispositionRow, "entry_id"),
    ]
    return any(
        next(records.find(table, {column: key}, count_max=1), None) is not None
        for table, column in tables
    )


def _has_entered(context: RepairContext, key: str, pipeline: str, *, is_in_input: bool) -> bool:
    """Whether an entry without a row in the ledger did enter a pipeline.

    `is_in_input`: whether its input contains the entry.

    This is so if the first message of the entry is in the ledger. Without messages, the entry must
    be in no other pipeline, and it must be in its input or the only entry for its record.
    """
    records = context.stores.records
    dispositions = list(records.find(DispositionRow, {"entry_id": key}, count_max=1000))
    messages = [row for row in dispositions if row.step != REPAIR]
    if any(row.message_id == key and row.pipeline == pipeline for row in messages):
        return True
    if is_in_input and records.get(InputRow, [(key.partition("-")[0], pipeline)]):
        return True
    if messages or next(records.find(EntryRow, {"entry_id": key}, count_max=1), None) is not None:
        return False
    return is_in_input or not any(
        find_entries_of_record(records, row) for row in records.find(CdxRow, {"capture_id": key})
    )


def _restore_place(
    context: RepairContext,
    entry_row: EntryRow,
    entry: Entry | None,
    planned_inputs: set[tuple[str, str]],
) -> None:
    """Correct the location of an entry. If the location is right, add its input to the repair plan,
    whose path or kind must be wrong.

    `entry`: the entry as its input has it, or the entry of its archived capture; None if neither is
        known.
    """
    records = context.stores.records
    place, key = entry_row.place or "", (entry_row.entry_id, entry_row.pipeline)
    new_place = entry.place if entry is not None else None
    if new_place is None or _is_same_record(place, new_place):
        input_key = (entry_row.input_id, entry_row.pipeline)
        if input_key not in planned_inputs:
            planned_inputs.add(input_key)
            context.plan.add_item(RepairAct.INPUT, *input_key)
        return
    records.change(EntryRow, [key], {"place": new_place})
    message = (
        f"entry {entry_row.entry_id} ({entry_row.pipeline}) has its location {new_place} again"
    )
    context.record_act(RepairAct.ENTRY, entry_row.entry_id, None, message)


def _is_same_record(place: str, other_place: str) -> bool:
    """Whether two locations are equal, or name the same record of a WARC, whose path may be given
    by its name.
    """
    if not other_place.startswith("/"):
        return place.endswith(f"/{other_place}")
    return place == other_place


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

    The lost entry of a fetched page is that of its link, without a message. Returns None if the
    capture has no `cdx` row. The SQL table `cdx` has one row per capture in a WARC.
    """
    records = context.stores.records
    entry_row = next(records.find(EntryRow, {"entry_id": key}, count_max=1), None)
    for page in records.get(FetchedPageRow, [key]):
        if entry_row is None:
            input_id = key.rpartition("-")[0]
            others = records.find(EntryRow, {"input_id": input_id}, count_max=1)
            collection = next((other.collection for other in others), "default")
            return Entry(key, input_id, LINK, page.url, None, collection)
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


def resend_entries(
    context: RepairContext,
    intake: Intake,
    readers: Mapping[str, Subscription],
    link_lists: LinkLists | None = None,
) -> None:
    """Send the entries in the repair plan through one pipeline again.

    `intake`: intake of the pipeline.
    `readers`: subscriptions of the pipeline, by step.
    `link_lists`: how the pipeline reads lists of links; None if it reads none.

    An item of the plan names an entry, or a step whose messages are in no queue or quarantine.
    Items of other pipelines are skipped.
    """
    pipeline = intake.gate.pipeline
    for items in context.plan.iter_items(RepairAct.SEND):
        own_items = [item for item in items if item.pipeline in ("", pipeline)]
        for item in own_items:
            if item.subject == f"{pipeline}.{item.step}" and item.step in readers:
                _send_step(context, intake, readers[item.step], item, link_lists)
        ids = [item.subject for item in own_items if item.subject != f"{pipeline}.{item.step}"]
        _send(context, intake, sorted(set(ids)), link_lists)


def _send_step(
    context: RepairContext,
    intake: Intake,
    reader: Subscription,
    item: RepairItem,
    link_lists: LinkLists | None,
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
                _send(context, intake, page, link_lists)
                page = []
        _send(context, intake, page, link_lists)


def _send(
    context: RepairContext, intake: Intake, ids: Sequence[str], link_lists: LinkLists | None
) -> None:
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
    links = rebuild_links(context, [row for row in rows.values() if row.kind == LINK], link_lists)
    entries = []
    for key in ids:
        row = rows.get(key)
        if row is None and (key not in source_entries or _is_in_other_pipeline(context, key)):
            continue
        if row is not None and row.kind == LINK:
            if key not in links:
                message = f"cannot enter link {key} again: its list is missing or has changed"
                context.give_up(key, message)
                continue
            entries.append(links[key])
            message = f"entered link {row.url} in {pipeline} again"
            context.record_act(RepairAct.SEND, key, None, message)
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
