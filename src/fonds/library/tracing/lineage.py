"""Dispositions as a tree: each message below the one it was made of."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fonds.address import file_name
from fonds.crawl.links import asked_address
from fonds.model.rows import DispositionRow, EntryRow
from fonds.ports import Records

ENTRY_SHOWN_MAX = 1000
ENTRIES_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Branch:
    """A disposition, and how many stand between it and what entered."""

    depth: int
    row: DispositionRow


@dataclass(frozen=True, slots=True)
class EntryStories:
    """What became of all that entered under one address: of its entries the twenty newest."""

    stories: Sequence[EntryStory]
    total: int


@dataclass(frozen=True, slots=True)
class EntryStory:
    """What became of an entry, in one pipeline or several; of its messages the thousand oldest."""

    entry_id: str
    entries: Sequence[EntryRow]
    branches: Sequence[Branch]
    total: int


def lineage(rows: Sequence[DispositionRow]) -> list[Branch]:
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
    return [Branch(depth, key[own]) for own, depth in told.items()]


def story_of_entry(records: Records, entry_id: str) -> EntryStory | None:
    """What became of what entered under this id, with everything made of it; None for an unknown one."""
    entries = list(records.find(EntryRow, {"entry_id": entry_id}))
    if not entries:
        return None
    of_it = {"entry_id": entry_id}
    order = ("promised_at", "step")
    rows = list(records.find(DispositionRow, of_it, order=order, count_max=ENTRY_SHOWN_MAX))
    full = len(rows) == ENTRY_SHOWN_MAX
    total = records.count(DispositionRow, (), of_it)[()] if full else len(rows)
    return EntryStory(entry_id, entries, lineage(rows), total)


NAMES_LOOKED_MAX = 200_000
"""Entries whose names are compared for one question."""


def stories_of(records: Records, key: str) -> EntryStories:
    """What became of what entered under this id or with this address; none for an unknown one."""
    entries, total = entries_of(records, key, ENTRIES_SHOWN_MAX)
    ids = dict.fromkeys(row.entry_id for row in entries)
    told = [one for entry_id in ids if (one := story_of_entry(records, entry_id)) is not None]
    return EntryStories(told, max(total, len(told)) if len(ids) == len(entries) else len(told))


def entries_named(records: Records, name: str) -> tuple[list[EntryRow], bool]:
    """Return the entries whose address ends in a file's name, and whether all entries were looked at.

    At most 200,000 entries are looked at, and 50 returned.
    """
    wanted, looked_at = name.strip().casefold(), 0
    found: list[EntryRow] = []
    if not wanted or "/" in wanted:
        return [], True
    for row in records.find(EntryRow, count_max=NAMES_LOOKED_MAX):
        looked_at += 1
        if wanted in (name.casefold() for name in _names_of(row.url)):
            found.append(row)
            if len(found) == ENTRIES_SHOWN_MAX:
                return found, False
    return found, looked_at < NAMES_LOOKED_MAX


def _names_of(url: str) -> tuple[str, str]:
    """Return the names of the file at a URL and of the container it is a member of."""
    return file_name(url), file_name(url.partition("#")[0])


def _addresses_of_path(key: str) -> list[str]:
    """Return the addresses of a local file that is named by its path."""
    if "://" in key or "\0" in key:
        return []
    path = Path(key.strip()).absolute()
    return [path.as_uri(), Path(os.path.normpath(path)).as_uri()]


def entries_of(records: Records, key: str, count_max: int) -> tuple[list[EntryRow], int]:
    """What entered under this id, or with this address: the newest, `count_max` at most, and how many there
    are."""
    own = list(records.find(EntryRow, {"entry_id": key}))
    if own:
        return own, len(own)
    of_it = {
        "url": list(dict.fromkeys((key.strip(), asked_address(key), *_addresses_of_path(key))))
    }
    order = ("-entered_at", "entry_id")
    newest = list(records.find(EntryRow, of_it, order=order, count_max=count_max))
    full = len(newest) == count_max
    return newest, records.count(EntryRow, (), of_it)[()] if full else len(newest)
