"""Audit of entries: how the messages of each entry ended must agree with what they produced."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from fonds.audit.fault import REPAIR, AuditCheck, AuditFault
from fonds.derivatives.kinds import iter_kinds_with_rows
from fonds.model.disposition import PENDING, RETURNING_VERDICTS, Reason, Verdict, Weight
from fonds.model.entry import CAPTURE
from fonds.model.record_offset import build_offset_id, parse_record_place
from fonds.model.restrictions import REDACTED
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FetchedPageRow,
    FileMetaRow,
    InputRow,
    Row,
)
from fonds.model.rows.row import InTable, NotInTable
from fonds.ports import Records
from fonds.ports.scan import iter_chunks

# Entries and files that are being processed are skipped by the audit.


def find_open_entries(records: Records, entry_ids: Collection[str]) -> set[str]:
    """Return those entry ids whose entry is still being processed.

    This is so if a message of the entry has no outcome yet, or if the outcome of the entry is
    pending. The audit skips such entries: results that are missing may be about to be written.
    """
    if not entry_ids:
        return set()
    rows = records.find(EntryRow, {"entry_id": sorted(entry_ids)})
    return {row.entry_id for row in rows if row.open_count > 0 or row.outcome == "pending"}


def find_open_files(records: Records, sha1hexes: Collection[str]) -> set[str]:
    """Return the SHA-1s of those files that are being processed: a message about the file has no
    outcome yet.
    """
    if not sha1hexes:
        return set()
    where = {"about": sorted(sha1hexes), "is_open": True}
    return {row.about for row in records.find(DispositionRow, where) if row.about}


_OPEN_VERDICTS = frozenset({PENDING, *map(str, RETURNING_VERDICTS)})
_VERDICTS_WITH_REASON = frozenset({str(Verdict.DROPPED), str(Verdict.QUARANTINED)})
_TEXTLESS_REASONS = frozenset(
    str(reason) for reason in Reason if reason.weight is Weight.WITHOUT_TEXT
)
"""Reasons given for files that are kept although they have no text."""
_OFFSET_ID = re.compile(r"[0-9a-f]{12}(?:\.[0-9]+)?")
_REASONS = frozenset(map(str, Reason)) - _TEXTLESS_REASONS


def check_entries(
    records: Records, pipelines: Sequence[str], started_at: datetime
) -> Iterator[AuditFault]:
    """Check the entries whose messages have all ended, and yield the contradictions in the ledger
    as faults.

    `pipelines`: names of the pipelines of the entries.
    `started_at`: start of the audit; entries that entered later are skipped.

    The database finds the entries that may be contradictory. Only their rows are read and checked.
    """
    suspects = _find_suspects(records, pipelines)
    for ids in iter_chunks(iter(sorted(suspects))):
        entries = list(records.find(EntryRow, {"entry_id": ids, "pipeline": list(pipelines)}))
        known_ids = sorted({entry.entry_id for entry in entries})
        by_entry: dict[tuple[str, str], list[DispositionRow]] = defaultdict(list)
        for row in records.find(DispositionRow, {"entry_id": known_ids}):
            by_entry[row.entry_id, row.pipeline].append(row)
        childless: list[DispositionRow] = []
        settled_entries = [
            entry for entry in entries if entry.open_count == 0 and entry.entered_at <= started_at
        ]
        for entry in settled_entries:
            rows = by_entry[entry.entry_id, entry.pipeline]
            yield from find_contradictions(rows)
            if entry.kind == CAPTURE:
                yield from _check_forwarded(rows)
                childless += iter_without_children(rows)
        yield from _check_without_result(records, childless)
        yield from _check_own_duplicates(records, by_entry)
    # With a condition on the pipeline, SQLite would sort all entries for each page.
    captures = (
        entry for entry in records.find(EntryRow, {"kind": CAPTURE}) if entry.pipeline in pipelines
    )
    for page in iter_chunks(captures):
        yield from _check_misplaced(records, page)


def _find_suspects(records: Records, pipelines: Sequence[str]) -> set[str]:
    """Return the ids of all entries whose dispositions may be contradictory.

    The exact checks follow. An entry that is left out passes all of them.
    """
    in_pipelines = {"pipeline": list(pipelines)}
    same_entry = {"entry_id": "entry_id", "pipeline": "pipeline"}
    parent = NotInTable(DispositionRow, "message_id", {"step": "parent_step", **same_entry})
    child_columns = {"parent_step": "step", **same_entry}
    conditions: list[dict[str, object]] = [
        *({**in_pipelines, **ending} for ending in _list_invalid_endings(records, in_pipelines)),
        # A message whose parent is missing.
        {**in_pipelines, "parent_id": parent},
        # An entry that went on after its first message.
        {
            **in_pipelines,
            "parent_id": None,
            "verdict": sorted(_VERDICTS_WITH_REASON),
            "message_id": InTable(DispositionRow, "parent_id", child_columns),
        },
        # A last message without a file.
        {
            **in_pipelines,
            "verdict": str(Verdict.DONE),
            "about": [None, NotInTable(FileMetaRow, "sha1hex")],
            "message_id": NotInTable(DispositionRow, "parent_id", child_columns),
        },
        # A duplicate of the entry's own file. The message may be in another pipeline.
        {
            "entry_id": InTable(EntryRow, "entry_id", where=in_pipelines),
            "verdict": str(Verdict.DROPPED),
            "reason": str(Reason.DUPLICATE),
            "about": InTable(FileMetaRow, "sha1hex", {"capture_id": "entry_id"}),
        },
    ]
    return {
        entry_id
        for condition in conditions
        for (entry_id,) in records.count(DispositionRow, ("entry_id",), condition)
    }


def _list_invalid_endings(
    records: Records, in_pipelines: Mapping[str, object]
) -> list[dict[str, object]]:
    """Return the combinations of verdict and reason in the ledger that are not valid, as query
    conditions.
    """
    columns = ("verdict", "reason", "is_open")
    return [
        {"verdict": verdict, "reason": reason, "is_open": is_open}
        for verdict, reason, is_open in records.count(DispositionRow, columns, in_pipelines)
        if not _is_valid_ending(verdict, reason, is_open=is_open)
    ]


def find_contradictions(rows: Sequence[DispositionRow]) -> Iterator[AuditFault]:
    """Yield the faults among the dispositions of one entry.

    A fault is an invalid combination of verdict and reason, or a parent message that is missing.
    """
    known_messages = {(row.message_id, row.step) for row in rows}
    for row in rows:
        name = f"message {row.message_id} at {row.pipeline}.{row.step}"
        if not _is_valid_ending(row.verdict, row.reason, is_open=row.is_open):
            message = (
                f"{name} is {row.verdict} with the reason {row.reason}, which is not a "
                "valid combination"
            )
            yield AuditFault(AuditCheck.WAY, row.entry_id, message, row.pipeline, row.step)
        if row.parent_id is not None and (row.parent_id, row.parent_step) not in known_messages:
            message = (
                f"{name} came from {row.parent_id} at {row.parent_step}, which is missing "
                "from the ledger"
            )
            yield AuditFault(
                AuditCheck.WAY, row.entry_id, message, row.pipeline, row.parent_step or ""
            )


def _is_valid_ending(verdict: str, reason: str | None, *, is_open: bool) -> bool:
    """Return whether a message can have this verdict with this reason."""
    if verdict in _OPEN_VERDICTS:
        return is_open
    if is_open:
        return False
    if verdict in _VERDICTS_WITH_REASON:
        return reason in _REASONS
    return verdict == Verdict.DONE and (reason is None or reason in _TEXTLESS_REASONS)


def iter_without_children(rows: Sequence[DispositionRow]) -> Iterator[DispositionRow]:
    """Iterate over the done messages of one entry after which, by the ledger, no further message
    was sent.

    `rows`: dispositions of all messages of the entry.

    Messages that record repair actions are left out.
    """
    parents = {(row.parent_id, row.parent_step) for row in rows}
    for row in rows:
        if row.step == REPAIR:
            continue
        if row.verdict == Verdict.DONE and (row.message_id, row.step) not in parents:
            yield row


def _check_forwarded(rows: Sequence[DispositionRow]) -> Iterator[AuditFault]:
    """Yield a fault if the first message of an entry was dropped or quarantined, but further
    messages followed it.

    `rows`: dispositions of all messages of the entry.
    """
    parents = {(row.parent_id, row.parent_step) for row in rows}
    for row in rows:
        is_first = row.parent_id is None and row.message_id == row.entry_id
        if (
            is_first
            and row.verdict in _VERDICTS_WITH_REASON
            and (row.message_id, row.step) in parents
        ):
            message = (
                f"entry {row.entry_id} was {row.verdict} at {row.pipeline}.{row.step} but went on"
            )
            yield AuditFault(AuditCheck.WAY, row.entry_id, message, row.pipeline, row.step)


def _check_without_result(records: Records, rows: Sequence[DispositionRow]) -> Iterator[AuditFault]:
    """Report done messages that left no result in the stores: no file, no derivative and no `cdx`
    row.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    sha1hexes = sorted({row.about for row in rows if row.about})
    tables: list[type[Row]] = []
    if sha1hexes:
        tables = [FileMetaRow, *(kind.row for kind in iter_kinds_with_rows())]
    known_files = {
        sha1hex
        for table in tables
        for (sha1hex,) in records.count(table, ("sha1hex",), {"sha1hex": sha1hexes})
    }
    unknown_rows = [row for row in rows if row.about not in known_files and row.detail != REDACTED]
    if not unknown_rows:
        return
    ids = sorted({row.entry_id for row in unknown_rows})
    stored_captures = {row.capture_id for row in records.find(CdxRow, {"capture_id": ids})}
    for row in unknown_rows:
        if row.entry_id not in stored_captures:
            message = (
                f"message {row.message_id} is done at {row.pipeline}.{row.step} but has no result"
            )
            yield AuditFault(AuditCheck.WAY, row.entry_id, message, row.pipeline, row.step)


def _check_own_duplicates(
    records: Records, by_entry: Mapping[tuple[str, str], Sequence[DispositionRow]]
) -> Iterator[AuditFault]:
    """Report entries that were dropped as duplicates of a file although they are its primary
    capture.
    """
    duplicates = [
        row
        for rows in by_entry.values()
        for row in rows
        if row.verdict == Verdict.DROPPED and row.reason == Reason.DUPLICATE and row.about
    ]
    sha1hexes = sorted({row.about for row in duplicates if row.about})
    primary_captures = {row.sha1hex: row.capture_id for row in records.get(FileMetaRow, sha1hexes)}
    for row in duplicates:
        if primary_captures.get(row.about or "") == row.entry_id:
            message = (
                f"entry {row.entry_id} was dropped as a duplicate but owns the file {row.about}"
            )
            yield AuditFault(AuditCheck.WAY, row.entry_id, message, row.pipeline, row.step)


def _check_misplaced(records: Records, page: Sequence[EntryRow]) -> Iterator[AuditFault]:
    """Report entries whose recorded location contradicts the path of their input, or
    their own id.
    """
    ids = sorted({entry.input_id for entry in page if entry.input_id})
    input_rows = records.find(InputRow, {"input_id": ids}) if ids else iter(())
    inputs = {row.input_id: row for row in input_rows}
    for entry in page:
        row = inputs.get(entry.input_id)
        if row is not None and entry.url != REDACTED and not is_within_input(entry, row):
            message = (
                f"entry {entry.entry_id} ({entry.pipeline}) has the location "
                f"{entry.place}, but came from {row.path}"
            )
            yield AuditFault(AuditCheck.ENTRY, entry.entry_id, message, entry.pipeline)


def is_within_input(entry: EntryRow, row: InputRow) -> bool:
    """Whether the recorded location of an entry, and its id, agree with the path and the kind of
    its input.
    """
    place = entry.place or ""
    if row.kind == "file":
        return place == row.path
    if row.kind == "zip":
        # A WARC in the ZIP that had to be unpacked is in the home's inbox.
        return place.startswith(row.path) or "/inbox/" in place
    if row.kind == "warc" and entry.entry_id.startswith(f"{row.input_id}-"):
        record_location = parse_record_place(place)
        offset_part = entry.entry_id.removeprefix(f"{row.input_id}-").removesuffix("-damage")
        if _OFFSET_ID.fullmatch(offset_part):
            return (
                record_location is not None
                and record_location[0] == row.path
                and build_offset_id(record_location[1]) == offset_part
            )
    return True


def find_fetched_without_entry(records: Records, ids: Sequence[str]) -> set[str]:
    """Return those of the capture ids whose capture was fetched but has no entry in the ledger.

    Such captures are of files fetched in addition to a link, such as robots.txt.
    """
    fetched_ids = {row.capture_id for row in records.get(FetchedPageRow, ids)} if ids else set()
    entries = records.find(EntryRow, {"entry_id": sorted(fetched_ids)}) if fetched_ids else ()
    return fetched_ids - {row.entry_id for row in entries}


def check_captures_without_entry(
    records: Records, owners: Mapping[str, str]
) -> Iterator[AuditFault]:
    """Check that captures that other data refers to have an entry in the ledger that is done at
    some step.

    `owners`: for each capture id, a description of what refers to it, for the messages of faults.

    Yields the faults. Captures fetched in addition to a link, such as robots.txt, need no entry.
    Entries that are still being processed are skipped.
    """
    ids = sorted(owners)
    rows = {row.entry_id: row for row in records.find(EntryRow, {"entry_id": ids})} if ids else {}
    missing = [key for key in ids if key not in rows]
    for key in sorted(set(missing) - find_fetched_without_entry(records, missing)):
        message = f"entry {key} is missing from the ledger, but {owners[key]} refers to it"
        yield AuditFault(AuditCheck.ENTRY, key, message)
    captures = [key for key, row in rows.items() if row.kind == CAPTURE]
    if not captures:
        return
    where = {"entry_id": captures, "verdict": str(Verdict.DONE)}
    done_steps = records.count(DispositionRow, ("entry_id", "step"), where)
    done_entries = {entry_id for entry_id, step in done_steps if step != REPAIR}
    suspects = [key for key in captures if key not in done_entries]
    for key in sorted(set(suspects) - find_open_entries(records, suspects)):
        message = f"entry {key} is not done at any step, but {owners[key]} refers to it"
        yield AuditFault(AuditCheck.WAY, key, message, rows[key].pipeline)


def build_unaccounted_condition(records: Records) -> list[NotInTable]:
    """Return the condition for ids of captures that may have no entry, or one that is done at no
    step.
    """
    steps = [step for (step,) in records.count(DispositionRow, ("step",)) if step != REPAIR]
    done = {"verdict": str(Verdict.DONE), "step": steps}
    return [
        NotInTable(EntryRow, "entry_id"),
        NotInTable(DispositionRow, "entry_id", where=done),
    ]
