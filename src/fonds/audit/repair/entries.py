"""What entered, on the books again: entries, their inputs, and those whose way is to be gone once more."""

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

FAILED = ("quarantined", "pending")


def reenter_entries(context: RepairContext) -> None:
    """Entries that are not on the books, or whose place is another than their input gives."""
    for some in context.plan.iter_items(RepairAct.ENTRY):
        found = {one.id: one for one in context.reread_entries({one.subject for one in some})}
        for one in some:
            _reenter_entry(context, one, found.get(one.subject))


def _reenter_entry(context: RepairContext, item: RepairItem, source_entry: Entry | None) -> None:
    records, key = context.stores.records, item.subject
    pipelines = [item.pipeline] if item.pipeline else _list_pipelines(context, key)
    entry = source_entry or _find_place_entry(context, key)
    if entry is None or not pipelines:
        context.give_up(key, f"nothing tells any more what entry {key} was, or what it came into")
        return
    for pipeline in pipelines:
        there = next(iter(records.get(EntryRow, [(key, pipeline)])), None)
        if there is None:
            context.stores.ledger.enter([], [entry.build_row(pipeline, context.clock())], ())
            context.plan.add_item(RepairAct.COUNT, key)
            said = records.find(DispositionRow, {"entry_id": key, "pipeline": pipeline})
            about = next((row.about for row in said if row.about), None)
            context.record_act(
                RepairAct.ENTRY, key, about, f"entry {key} ({pipeline}) is on the books again"
            )
        elif there.place != entry.place:
            records.change(EntryRow, [(key, pipeline)], {"place": entry.place})
            told = f"entry {key} ({pipeline}) lies at {entry.place} again"
            context.record_act(RepairAct.ENTRY, key, None, told)


def _list_pipelines(context: RepairContext, key: str) -> list[str]:
    """Those whose books have messages of the entry, else those its input was read into."""
    records = context.stores.records
    rows = records.find(DispositionRow, {"entry_id": key}, count_max=1000)
    inputs = records.find(InputRow, {"input_id": key.partition("-")[0]}, count_max=100)
    return sorted({row.pipeline for row in rows}) or sorted({row.pipeline for row in inputs})


def _find_place_entry(context: RepairContext, key: str) -> Entry | None:
    """A capture as `cdx` has it, where its input is gone."""
    records = context.stores.records
    there = next(records.find(EntryRow, {"entry_id": key}, count_max=1), None)
    for row in records.find(CdxRow, {"capture_id": key}):
        moment = parse_datetime14(row.datetime)
        input_id = there.input_id if there else key.partition("-")[0]
        collection = there.collection if there else "default"
        kind = "revisit" if row.mimetype == REVISIT_MIME else "response"
        capture = Capture(key, input_id, build_place(row), row.url, moment, kind, collection)
        return build_capture_entry(capture)
    return None


def count_inputs(context: RepairContext) -> None:
    """Inputs that are not on the books, or have other entries there than were read out of them."""
    for some in context.plan.iter_items(RepairAct.INPUT):
        for one in some:
            _count_input(context, one)


def _count_input(context: RepairContext, item: RepairItem) -> None:
    records, where = context.stores.records, (item.subject, item.pipeline)
    there = next(iter(records.get(InputRow, [where])), None)
    on_books = {"input_id": item.subject, "pipeline": item.pipeline}
    sample = next(records.find(EntryRow, on_books, count_max=1), None)
    path = there.path if there else strip_member(sample.place or "") if sample else ""
    collection = sample.collection if sample else "default"
    row = _read_input(context, path, collection, item) if path else None
    if row is None:
        count = records.count(EntryRow, (), on_books)[()]
        if there is None:
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
                error="its file is gone",
                updated=context.clock(),
                pipeline=item.pipeline,
            )
        else:
            missing = there.entries - count
            told = f"{missing} entries of {path} are not on the books, and it is gone or another"
            context.give_up(item.subject, told)
            return
    context.stores.ledger.enter([row], [], ())
    told = f"{path}: {row.entries} entries, as it was read again"
    context.record_act(RepairAct.INPUT, sample.entry_id if sample else "", None, told)


def _read_input(
    context: RepairContext, path: str, collection: str, item: RepairItem
) -> InputRow | None:
    """The input as reading it to its end gives it; what is not on the books is sent."""
    source, records = context.open_source(Path(path), collection), context.stores.records
    for row in source.iter_inputs():
        if row.input_id != item.subject:
            continue
        tally: Counter[str] = Counter()
        count, page = 0, list[str]()
        for found in source.iter_entries(row):
            if isinstance(found, Entry):
                count += 1
                page.append(found.id)
                if len(page) >= BATCH_MAX:
                    _plan_absent(context, records.get(EntryRow, _list_keys(page, item)), page, item)
                    page = []
            elif isinstance(found, Mapping):
                tally.update(found)
        _plan_absent(context, records.get(EntryRow, _list_keys(page, item)), page, item)
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


def _plan_absent(
    context: RepairContext, existing: Sequence[EntryRow], page: Sequence[str], item: RepairItem
) -> None:
    known = {row.entry_id for row in existing}
    for key in page:
        if key not in known:
            context.plan.add_item(
                RepairAct.SEND, key, item.pipeline, message="it is not on the books"
            )


def resend_entries(
    context: RepairContext, intake: Intake, readers: Mapping[str, Subscription]
) -> None:
    """What is to go through the intake's pipeline once more. `readers` are its subscriptions by step."""
    pipeline = intake.gate.pipeline
    for some in context.plan.iter_items(RepairAct.SEND):
        mine = [one for one in some if one.pipeline in ("", pipeline)]
        for one in mine:
            if one.subject == f"{pipeline}.{one.step}" and one.step in readers:
                _send_step(context, intake, readers[one.step], one)
        ids = [one.subject for one in mine if one.subject != f"{pipeline}.{one.step}"]
        _send(context, intake, sorted(set(ids)))


def _send_step(
    context: RepairContext, intake: Intake, reader: Subscription, item: RepairItem
) -> None:
    """What is owed at a step, and what should lie in its quarantine and does not."""
    records = context.stores.records
    here = {"pipeline": item.pipeline, "step": item.step}
    held, deliveries = set[str](), []
    while some := context.stores.queue.receive(reader.quarantine, BATCH_MAX, 0.0):
        held |= {one.message.id for one in some}
        deliveries += some
    context.stores.queue.release(deliveries)
    for where in ({"is_open": True}, {"verdict": "quarantined"}):
        page: list[str] = []
        for row in records.find(DispositionRow, {**here, **where}):
            if row.message_id not in held:
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
    found = {one.id: one for one in context.reread_entries(ids)} if ids else {}
    sent = []
    for key in ids:
        row = rows.get(key)
        if row is None and (key not in found or _is_in_other_pipeline(context, key)):
            continue
        if row is not None and row.kind != CAPTURE:
            context.give_up(
                key, f"entry {key} was put on a topic by others: it is to be put there again"
            )
            continue
        entry = _choose_entry(context, key, found.get(key), row)
        if entry is None:
            context.give_up(key, f"entry {key} cannot be sent again: its bytes are gone")
            continue
        sent.append(entry)
        context.record_act(RepairAct.SEND, key, None, f"entry {key} goes through {pipeline} again")
    intake.send_again(sent, "sent again by repair")


def _is_in_other_pipeline(context: RepairContext, key: str) -> bool:
    """Whether another pipeline's books have the entry: it never came into this one."""
    return (
        next(context.stores.records.find(EntryRow, {"entry_id": key}, count_max=1), None)
        is not None
    )


def _choose_entry(
    context: RepairContext, key: str, entry: Entry | None, row: EntryRow | None
) -> Entry | None:
    """The entry as its input gives it, if its bytes lie there; else as they lie in a WARC of ours."""
    if entry is not None and _has_bytes(context, entry):
        return entry
    other = _find_place_entry(context, key)
    if other is not None and _has_bytes(context, other):
        return other
    harmless = row is None or row.outcome in FAILED or not _has_output(context, key)
    return entry if harmless else None


def _has_output(context: RepairContext, key: str) -> bool:
    """Whether anything was kept of an entry: sent again without its bytes, that would be failed."""
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
