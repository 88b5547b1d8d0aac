"""What entered, on the books again: entries, their inputs, and those whose way is to be gone once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fonds.library.checks.fault import Act
from fonds.library.repair.plan import Wanted
from fonds.library.repair.workshop import Workshop, input_path, place_of
from fonds.model.capture import REVISIT_MIME, Capture, from_datetime14
from fonds.model.entry import CAPTURE, Entry, of_capture
from fonds.model.errors import PermanentError, StoreUnavailableError, TransientError
from fonds.model.message import Subscription
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, InputRow
from fonds.runtime.intake import Intake
from fonds.runtime.quarantine import BATCH_MAX

FAILED = ("quarantined", "pending")


def enter_again(shop: Workshop) -> None:
    """Entries that are not on the books, or whose place is another than their input gives."""
    for some in shop.plan.wanted(Act.ENTRY):
        found = {one.id: one for one in shop.reread({one.subject for one in some})}
        for one in some:
            _enter(shop, one, found.get(one.subject))


def _enter(shop: Workshop, wanted: Wanted, found: Entry | None) -> None:
    records, key = shop.stores.records, wanted.subject
    pipelines = [wanted.pipeline] if wanted.pipeline else _pipelines(shop, key)
    entry = found or _of_place(shop, key)
    if entry is None or not pipelines:
        shop.give_up(key, f"nothing tells any more what entry {key} was, or what it came into")
        return
    for pipeline in pipelines:
        there = next(iter(records.get(EntryRow, [(key, pipeline)])), None)
        if there is None:
            shop.stores.ledger.enter([], [entry.row(pipeline, shop.clock())], ())
            shop.plan.want(Act.COUNT, key)
            said = records.find(DispositionRow, {"entry_id": key, "pipeline": pipeline})
            about = next((row.about for row in said if row.about), None)
            shop.note(Act.ENTRY, key, about, f"entry {key} ({pipeline}) is on the books again")
        elif there.place != entry.place:
            records.change(EntryRow, [(key, pipeline)], {"place": entry.place})
            told = f"entry {key} ({pipeline}) lies at {entry.place} again"
            shop.note(Act.ENTRY, key, None, told)


def _pipelines(shop: Workshop, key: str) -> list[str]:
    """Those whose books have messages of the entry, else those its input was read into."""
    records = shop.stores.records
    rows = records.find(DispositionRow, {"entry_id": key}, count_max=1000)
    inputs = records.find(InputRow, {"input_id": key.partition("-")[0]}, count_max=100)
    return sorted({row.pipeline for row in rows}) or sorted({row.pipeline for row in inputs})


def _of_place(shop: Workshop, key: str) -> Entry | None:
    """A capture as `cdx` has it, where its input is gone."""
    records = shop.stores.records
    there = next(records.find(EntryRow, {"entry_id": key}, count_max=1), None)
    for row in records.find(CdxRow, {"capture_id": key}):
        moment = from_datetime14(row.datetime)
        input_id = there.input_id if there else key.partition("-")[0]
        collection = there.collection if there else "default"
        kind = "revisit" if row.mimetype == REVISIT_MIME else "response"
        capture = Capture(key, input_id, place_of(row), row.url, moment, kind, collection)
        return of_capture(capture)
    return None


def count_inputs(shop: Workshop) -> None:
    """Inputs that are not on the books, or have other entries there than were read out of them."""
    for some in shop.plan.wanted(Act.INPUT):
        for one in some:
            _count_input(shop, one)


def _count_input(shop: Workshop, wanted: Wanted) -> None:
    records, where = shop.stores.records, (wanted.subject, wanted.pipeline)
    there = next(iter(records.get(InputRow, [where])), None)
    on_books = {"input_id": wanted.subject, "pipeline": wanted.pipeline}
    sample = next(records.find(EntryRow, on_books, count_max=1), None)
    path = there.path if there else input_path(sample.place or "") if sample else ""
    collection = sample.collection if sample else "default"
    row = _read_whole(shop, path, collection, wanted) if path else None
    if row is None:
        count = records.count(EntryRow, (), on_books)[()]
        if there is None:
            row = InputRow(
                input_id=wanted.subject,
                path=path,
                kind="file",
                fingerprint="",
                position=0,
                entries=count,
                tally={},
                tally_count=0,
                finished=True,
                error="its file is gone",
                updated=shop.clock(),
                pipeline=wanted.pipeline,
            )
        else:
            missing = there.entries - count
            told = f"{missing} entries of {path} are not on the books, and it is gone or another"
            shop.give_up(wanted.subject, told)
            return
    shop.stores.ledger.enter([row], [], ())
    told = f"{path}: {row.entries} entries, as it was read again"
    shop.note(Act.INPUT, sample.entry_id if sample else "", None, told)


def _read_whole(shop: Workshop, path: str, collection: str, wanted: Wanted) -> InputRow | None:
    """The input as reading it to its end gives it; what is not on the books is sent."""
    source, records = shop.source_of(Path(path), collection), shop.stores.records
    for row in source.inputs():
        if row.input_id != wanted.subject:
            continue
        tally: Counter[str] = Counter()
        count, page = 0, list[str]()
        for found in source.entries(row):
            if isinstance(found, Entry):
                count += 1
                page.append(found.id)
                if len(page) >= BATCH_MAX:
                    _want_absent(shop, records.get(EntryRow, _keys(page, wanted)), page, wanted)
                    page = []
            elif isinstance(found, Mapping):
                tally.update(found)
        _want_absent(shop, records.get(EntryRow, _keys(page, wanted)), page, wanted)
        return replace(
            row,
            entries=count,
            tally=dict(tally),
            tally_count=tally.total(),
            finished=True,
            updated=shop.clock(),
            pipeline=wanted.pipeline,
        )
    return None


def _keys(page: Sequence[str], wanted: Wanted) -> list[tuple[str, str]]:
    return [(key, wanted.pipeline) for key in page]


def _want_absent(
    shop: Workshop, there: Sequence[EntryRow], page: Sequence[str], wanted: Wanted
) -> None:
    known = {row.entry_id for row in there}
    for key in page:
        if key not in known:
            shop.plan.want(Act.SEND, key, wanted.pipeline, told="it is not on the books")


def send_again(shop: Workshop, intake: Intake, readers: Mapping[str, Subscription]) -> None:
    """What is to go through the intake's pipeline once more. `readers` are its subscriptions by step."""
    pipeline = intake.gate.pipeline
    for some in shop.plan.wanted(Act.SEND):
        mine = [one for one in some if one.pipeline in ("", pipeline)]
        for one in mine:
            if one.subject == f"{pipeline}.{one.step}" and one.step in readers:
                _send_step(shop, intake, readers[one.step], one)
        ids = [one.subject for one in mine if one.subject != f"{pipeline}.{one.step}"]
        _send(shop, intake, sorted(set(ids)))


def _send_step(shop: Workshop, intake: Intake, reader: Subscription, wanted: Wanted) -> None:
    """What is owed at a step, and what should lie in its quarantine and does not."""
    records = shop.stores.records
    here = {"pipeline": wanted.pipeline, "step": wanted.step}
    held, deliveries = set[str](), []
    while some := shop.stores.queue.receive(reader.quarantine, BATCH_MAX, 0.0):
        held |= {one.message.id for one in some}
        deliveries += some
    shop.stores.queue.release(deliveries)
    for where in ({"is_open": True}, {"verdict": "quarantined"}):
        page: list[str] = []
        for row in records.find(DispositionRow, {**here, **where}):
            if row.message_id not in held:
                page.append(row.entry_id)
            if len(page) >= BATCH_MAX:
                _send(shop, intake, page)
                page = []
        _send(shop, intake, page)


def _send(shop: Workshop, intake: Intake, ids: Sequence[str]) -> None:
    pipeline = intake.gate.pipeline
    rows = {
        row.entry_id: row
        for row in shop.stores.records.get(EntryRow, [(key, pipeline) for key in ids])
    }
    found = {one.id: one for one in shop.reread(ids)} if ids else {}
    sent = []
    for key in ids:
        row = rows.get(key)
        if row is None and (key not in found or _elsewhere(shop, key)):
            continue
        if row is not None and row.kind != CAPTURE:
            shop.give_up(
                key, f"entry {key} was put on a topic by others: it is to be put there again"
            )
            continue
        entry = _fit(shop, key, found.get(key), row)
        if entry is None:
            shop.give_up(key, f"entry {key} cannot be sent again: its bytes are gone")
            continue
        sent.append(entry)
        shop.note(Act.SEND, key, None, f"entry {key} goes through {pipeline} again")
    intake.send_again(sent, "sent again by repair")


def _elsewhere(shop: Workshop, key: str) -> bool:
    """Whether another pipeline's books have the entry: it never came into this one."""
    return (
        next(shop.stores.records.find(EntryRow, {"entry_id": key}, count_max=1), None) is not None
    )


def _fit(shop: Workshop, key: str, found: Entry | None, row: EntryRow | None) -> Entry | None:
    """The entry as its input gives it, if its bytes lie there; else as they lie in a WARC of ours."""
    if found is not None and _lies_there(shop, found):
        return found
    other = _of_place(shop, key)
    if other is not None and _lies_there(shop, other):
        return other
    harmless = row is None or row.outcome in FAILED or not _has_brought(shop, key)
    return found if harmless else None


def _has_brought(shop: Workshop, key: str) -> bool:
    """Whether anything was kept of an entry: sent again without its bytes, that would be failed."""
    records = shop.stores.records
    rows = records.find(DispositionRow, {"entry_id": key}, count_max=1000)
    if any(row.about for row in rows):
        return True
    return next(records.find(CdxRow, {"capture_id": key}, count_max=1), None) is not None


def _lies_there(shop: Workshop, entry: Entry) -> bool:
    item = entry.item
    if not isinstance(item, Capture):
        return True
    if item.damage is not None or item.record_type == "revisit":
        return True
    try:
        shop.stores.archive.read(item.place)
    except StoreUnavailableError:
        raise
    except (PermanentError, TransientError):
        return False
    return True
