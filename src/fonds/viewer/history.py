"""Dispositions as a tree: each message below the one it was made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fonds.following.link_rules import normalize_requested_url
from fonds.model.rows import DispositionRow, EntryRow, FileMetaRow
from fonds.ports import Records
from fonds.urls.parts import file_name
from fonds.viewer.path_keys import entries_of_record, inputs_of_path, urls_of_path

MESSAGES_MAX = 1000
ENTRIES_MAX = 20


@dataclass(frozen=True, slots=True)
class MessageBranch:
    """A disposition, and how many stand between it and what entered."""

    depth: int
    row: DispositionRow


@dataclass(frozen=True, slots=True)
class EntryHistories:
    """What became of all that entered under one address: of its entries the twenty newest."""

    stories: Sequence[EntryHistory]
    total: int


@dataclass(frozen=True, slots=True)
class EntryHistory:
    """What became of an entry, in one pipeline or several; of its messages the thousand oldest."""

    entry_id: str
    entries: Sequence[EntryRow]
    branches: Sequence[MessageBranch]
    total: int


def build_branches(rows: Sequence[DispositionRow]) -> list[MessageBranch]:
    """Every row once, each behind its parent, siblings in the order they were promised in.

    A row whose parent is not among them stands at the top, also one that would be its own ancestor.
    """
    key = {(row.pipeline, row.message_id, row.step): row for row in rows}
    below: dict[tuple[str, str, str] | None, list[tuple[str, str, str]]] = defaultdict(list)
    for own, row in sorted(key.items(), key=lambda one: (one[1].promised_at, one[0])):
        parent = (row.pipeline, row.parent_id or "", row.parent_step or "")
        below[parent if parent in key and parent != own else None].append(own)
    told: dict[tuple[str, str, str], int] = {}
    for first in (*below[None], *key):
        waiting = [] if first in told else [(0, first)]
        while waiting:
            depth, own = waiting.pop()
            if own not in told:
                told[own] = depth
                waiting += [(depth + 1, child) for child in reversed(below[own])]
    return [MessageBranch(depth, key[own]) for own, depth in told.items()]


def find_entry_history(records: Records, entry_id: str) -> EntryHistory | None:
    """What became of what entered under this id, with everything made of it; None for an unknown one."""
    entries = list(records.find(EntryRow, {"entry_id": entry_id}))
    if not entries:
        return None
    of_it = {"entry_id": entry_id}
    order = ("promised_at", "step")
    rows = list(records.find(DispositionRow, of_it, order=order, count_max=MESSAGES_MAX))
    full = len(rows) == MESSAGES_MAX
    total = records.count(DispositionRow, (), of_it)[()] if full else len(rows)
    return EntryHistory(entry_id, entries, build_branches(rows), total)


ENTRIES_SEARCHED_MAX = 200_000
"""Entries whose names are compared for one question."""


def find_entry_histories(records: Records, key: str) -> EntryHistories:
    """What became of what entered under this id or with this address; none for an unknown one."""
    entries, total = find_entries(records, key, ENTRIES_MAX)
    ids = dict.fromkeys(row.entry_id for row in entries)
    told = [one for entry_id in ids if (one := find_entry_history(records, entry_id)) is not None]
    return EntryHistories(told, max(total, len(told)) if len(ids) == len(entries) else len(told))


def find_entries_by_file_name(records: Records, name: str) -> tuple[list[EntryRow], bool]:
    """Return the entries whose address ends in a file's name, and whether all entries were looked at.

    At most 200,000 entries are looked at, and 50 returned.
    """
    wanted, looked_at = name.strip().casefold(), 0
    found: list[EntryRow] = []
    if not wanted or "/" in wanted:
        return [], True
    for row in records.find(EntryRow, count_max=ENTRIES_SEARCHED_MAX):
        looked_at += 1
        if wanted in (name.casefold() for name in _names_of(row.url)):
            found.append(row)
            if len(found) == ENTRIES_MAX:
                return found, False
    return found, looked_at < ENTRIES_SEARCHED_MAX


def files_named(records: Records, name: str) -> list[str]:
    """Return the SHA-1s of the files that are kept of the entries whose address ends in a file's name."""
    about = dict.fromkeys(
        row.about for row in find_entries_by_file_name(records, name)[0] if row.about
    )
    kept = {row.sha1hex for row in records.get(FileMetaRow, list(about))} if about else set()
    return [sha1hex for sha1hex in about if sha1hex in kept]


def _names_of(url: str) -> tuple[str, str]:
    """Return the names of the file at a URL and of the container it is a member of."""
    return file_name(url), file_name(url.partition("#")[0])


def find_entries(records: Records, key: str, count_max: int) -> tuple[list[EntryRow], int]:
    """Return what entered under this id or place, with this address, or from this WARC, ZIP, index or list.

    These are the newest, at most `count_max`, and how many there are.
    """
    own = list(records.find(EntryRow, {"entry_id": [key, *entries_of_record(records, key)]}))
    if own:
        return own, len(own)
    by_url = {
        "url": list(dict.fromkeys((key.strip(), normalize_requested_url(key), *urls_of_path(key))))
    }
    by_input = {"input_id": inputs_of_path(records, key)}
    asked = [by_url, by_input] if by_input["input_id"] else [by_url]
    order = ("-entered_at", "entry_id")
    found = {
        (row.entry_id, row.pipeline): row
        for where in asked
        for row in records.find(EntryRow, where, order=order, count_max=count_max)
    }
    newest = sorted(found.values(), key=lambda row: row.entry_id)
    newest = sorted(newest, key=lambda row: row.entered_at, reverse=True)[:count_max]
    if len(found) < count_max:
        return newest, len(found)
    both = records.count(EntryRow, (), by_url | by_input)[()] if len(asked) > 1 else 0
    return newest, sum(records.count(EntryRow, (), where)[()] for where in asked) - both


def list_history(
    records: Records, about: str, count_max: int | None = None
) -> list[DispositionRow]:
    """The dispositions of the messages about one thing, oldest first; `count_max` at most, None for all."""
    order = ("promised_at", "step")
    return list(records.find(DispositionRow, {"about": about}, order=order, count_max=count_max))
