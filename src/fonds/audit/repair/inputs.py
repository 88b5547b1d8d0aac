"""Repair of inputs: restores their rows, and corrects their paths, kinds and entry counts.

The id of an input is a hash of its path, size and modification time. So a row is restored only from
the file with this id, or with a path from which the id was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fonds.audit.conservation import is_path_of
from fonds.audit.entries import is_within_input
from fonds.audit.fault import RepairAct
from fonds.audit.repair.context import (
    ENTRIES_SAMPLED_MAX,
    RepairContext,
    strip_member,
)
from fonds.audit.repair.plan import RepairItem
from fonds.model.checksums import hash_row
from fonds.model.encoding import pluralize
from fonds.model.entry import Entry
from fonds.model.rows import EntryRow, InputRow
from fonds.pipelines.runtime.quarantine import BATCH_MAX


def count_inputs(context: RepairContext) -> None:
    """Restore the rows of missing inputs in the repair plan, and correct wrong paths and entry
    counts of inputs.
    """
    for items in context.plan.iter_items(RepairAct.INPUT):
        for item in items:
            _count_input(context, item)


def _count_input(context: RepairContext, item: RepairItem) -> None:
    records = context.stores.records
    input_row = next(iter(records.get(InputRow, [(item.subject, item.pipeline)])), None)
    if input_row is None and _correct_input_ids(context, item):
        return
    input_filters = {"input_id": item.subject, "pipeline": item.pipeline}
    count = records.count(EntryRow, (), input_filters)[()]
    sample = next(records.find(EntryRow, input_filters, count_max=1), None)
    row = _read_input(context, item)
    if row is not None:
        if (
            input_row is not None
            and input_row.checksum == hash_row(input_row)
            and input_row == replace(row, updated=input_row.updated, position=input_row.position)
        ):
            extra_count = count - row.entries
            if extra_count > 0:
                entries_text = pluralize(extra_count, "entry", "entries")
                message = f"the ledger has {entries_text} that {row.path} does not contain"
                context.give_up(item.subject, message)
            return
        message = f"{row.path}: {row.entries} entries, after reading it again"
    elif input_row is None:
        row = _infer_input(context, item, count)
        if row is None:
            place = sample.place if sample else None
            context.give_up(
                item.subject,
                f"cannot restore input {item.subject}: its file was not found, and its entries, "
                f"such as one at {place}, do not name it",
            )
            return
        message = f"{row.path}: {row.entries} entries, counted in the ledger"
    else:
        row = _correct_path(context, input_row)
        if row is None:
            message = f"{input_row.path} is missing or has changed"
            missing_count = input_row.entries - count
            if missing_count > 0:
                message = (
                    f"{missing_count} entries of {input_row.path} are missing from the ledger, and "
                    "the file is missing or has changed"
                )
            context.give_up(item.subject, message)
            return
        message = f"input {item.subject} has its path {row.path} again"
    # The new row gets a right checksum only if there is no other with a wrong one.
    records.delete(InputRow, [(row.input_id, row.pipeline)])
    context.stores.ledger.enter([row], [], ())
    context.record_act(RepairAct.INPUT, sample.entry_id if sample else "", None, message)


def _correct_input_ids(context: RepairContext, item: RepairItem) -> bool:
    """Correct the input ids of entries whose own ids name another input of the ledger. Return
    whether any was corrected.

    `item`: the missing input that the entries name.
    """
    records = context.stores.records
    filters = {"input_id": item.subject, "pipeline": item.pipeline}
    wrong_entries = [
        entry
        for entry in records.find(EntryRow, filters, count_max=BATCH_MAX)
        if (input_id := entry.entry_id.partition("-")[0]) != item.subject
        and records.get(InputRow, [(input_id, item.pipeline)])
    ]
    for entry in wrong_entries:
        input_id = entry.entry_id.partition("-")[0]
        records.change(EntryRow, [(entry.entry_id, entry.pipeline)], {"input_id": input_id})
        message = f"entry {entry.entry_id} ({entry.pipeline}) has its input {input_id} again"
        context.record_act(RepairAct.INPUT, entry.entry_id, None, message)
    return bool(wrong_entries)


def _infer_input(context: RepairContext, item: RepairItem, count: int) -> InputRow | None:
    """Build the row of a missing input, whose file is missing too, from its entries.

    `count`: number of its entries.

    Returns None if the locations of the entries do not agree with one WARC, ZIP or single file, as
    those of an index.
    """
    input_filters = {"input_id": item.subject, "pipeline": item.pipeline}
    candidates: list[InputRow] | None = None
    for entry in context.stores.records.find(EntryRow, input_filters):
        if candidates is None:
            path = strip_member(entry.place or "")
            candidates = [
                InputRow(
                    input_id=item.subject,
                    path=path,
                    kind=kind,
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
                for kind in ("file", "warc", "zip")
                if path
            ]
        candidates = [
            row
            for row in candidates
            if strip_member(entry.place or "") == row.path
            and is_within_input(entry, row)
            and (row.kind != "zip" or "#" in (entry.place or ""))
        ]
    return candidates[0] if candidates else None


def _correct_path(context: RepairContext, input_row: InputRow) -> InputRow | None:
    """Return the row of an input with the path from which its id was made; None if that path is
    unknown, or is its path already.

    The path is looked for in the locations of its entries.
    """
    if is_path_of(input_row.path, input_row):
        return None
    filters = {"input_id": input_row.input_id, "pipeline": input_row.pipeline}
    entries = context.stores.records.find(EntryRow, filters, count_max=ENTRIES_SAMPLED_MAX)
    for path in sorted({strip_member(entry.place or "") for entry in entries}):
        if is_path_of(path, input_row):
            return replace(input_row, path=path)
    return None


def _read_input(context: RepairContext, item: RepairItem) -> InputRow | None:
    """Read an input to its end and return its row with the correct counts; None if its file is
    missing or has changed.

    `item`: the input in the repair plan.

    Entries of the input that the ledger lacks are added to the repair plan, to be sent again.
    """
    found_input, records = context.find_input(item.subject), context.stores.records
    if found_input is None:
        return None
    source, row = found_input
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
