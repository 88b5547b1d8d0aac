"""Processing history of entries as trees of messages: each message is below the message that led to
it (its parent).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from fonds.following.link_rules import normalize_requested_url
from fonds.model.rows import DispositionRow, EntryRow, FileMetaRow
from fonds.ports import Records
from fonds.urls.parts import file_name
from fonds.viewer.path_keys import list_path_inputs, list_path_urls, list_record_entries

MESSAGES_MAX = 1000
ENTRIES_MAX = 20


@dataclass(frozen=True, slots=True)
class MessageBranch:
    """Final or current status of one message in the history of an entry.

    The messages form a tree, because a message may lead to further messages.

    - `depth`: number of messages above this one in the tree; 0 for the first message of the entry.
    - `row`: row of `dispositions` with the status of the message.
    """

    depth: int
    row: DispositionRow


@dataclass(frozen=True, slots=True)
class EntryHistories:
    """Histories of all entries with the same URL or id.

    - `newest`: processing histories of the 20 newest entries.
    - `total`: number of all entries.
    """

    newest: Sequence[EntryHistory]
    total: int


@dataclass(frozen=True, slots=True)
class EntryHistory:
    """History of one entry in one or more pipelines."""

    entry_id: Annotated[str, Meta(description="id of the entry")]
    entries: Annotated[Sequence[EntryRow], Meta(description="the entry in each pipeline")]
    branches: Annotated[
        Sequence[MessageBranch],
        Meta(
            description="messages of the entry as a tree, at most 1,000; `depth` is the distance from "
            "the first"
        ),
    ]
    total: Annotated[int, Meta(description="number of all messages")]


def build_branches(rows: Sequence[DispositionRow]) -> list[MessageBranch]:
    """Order the dispositions (statuses of messages) of an entry as a tree.

    Each disposition follows its parent, occurs once, and has its depth in the tree. Siblings are in
    the order in which their messages were sent. A disposition whose parent is missing, or that
    would be its own ancestor, is at the top.
    """
    key = {(row.pipeline, row.message_id, row.step): row for row in rows}
    children: dict[tuple[str, str, str] | None, list[tuple[str, str, str]]] = defaultdict(list)
    for row_key, row in sorted(key.items(), key=lambda item: (item[1].promised_at, item[0])):
        parent = (row.pipeline, row.parent_id or "", row.parent_step or "")
        children[parent if parent in key and parent != row_key else None].append(row_key)
    depths: dict[tuple[str, str, str], int] = {}
    for root in (*children[None], *key):
        stack = [] if root in depths else [(0, root)]
        while stack:
            depth, row_key = stack.pop()
            if row_key not in depths:
                depths[row_key] = depth
                stack += [(depth + 1, child) for child in reversed(children[row_key])]
    return [MessageBranch(depth, key[row_key]) for row_key, depth in depths.items()]


def find_entry_history(records: Records, entry_id: str) -> EntryHistory | None:
    """Return the history of the entry with this id; None if the id is unknown."""
    entries = list(records.find(EntryRow, {"entry_id": entry_id}))
    if not entries:
        return None
    conditions = {"entry_id": entry_id}
    order = ("promised_at", "step")
    rows = list(records.find(DispositionRow, conditions, order=order, count_max=MESSAGES_MAX))
    is_full = len(rows) == MESSAGES_MAX
    total = records.count(DispositionRow, (), conditions)[()] if is_full else len(rows)
    return EntryHistory(entry_id, entries, build_branches(rows), total)


ENTRIES_SEARCHED_MAX = 200_000
"""Maximum number of entries whose file names are compared in one search by file name."""


def find_entry_histories(records: Records, key: str) -> EntryHistories:
    """Return the histories of the entries that a key names: an entry id, URL or path.

    The result has no histories if the key is unknown.
    """
    entries, total = find_entries(records, key, ENTRIES_MAX)
    ids = dict.fromkeys(row.entry_id for row in entries)
    histories = [
        entry_history
        for entry_id in ids
        if (entry_history := find_entry_history(records, entry_id)) is not None
    ]
    return EntryHistories(
        histories, max(total, len(histories)) if len(ids) == len(entries) else len(histories)
    )


def find_entries_by_file_name(records: Records, name: str) -> tuple[list[EntryRow], bool]:
    """Return entries whose URL or path ends in a file name, and whether all entries were searched.

    At most 200,000 entries are searched, and 20 are returned.
    """
    folded_name, searched_count = name.strip().casefold(), 0
    matches: list[EntryRow] = []
    if not folded_name or "/" in folded_name:
        return [], True
    for row in records.find(EntryRow, count_max=ENTRIES_SEARCHED_MAX):
        searched_count += 1
        if folded_name in (name.casefold() for name in _list_names(row.url)):
            matches.append(row)
            if len(matches) == ENTRIES_MAX:
                return matches, False
    return matches, searched_count < ENTRIES_SEARCHED_MAX


def find_files_named(records: Records, name: str) -> list[str]:
    """Return the SHA-1s of stored files whose entry has a URL or path that ends in a file name."""
    subjects = dict.fromkeys(
        row.about for row in find_entries_by_file_name(records, name)[0] if row.about
    )
    stored_sha1hexes = (
        {row.sha1hex for row in records.get(FileMetaRow, list(subjects))} if subjects else set()
    )
    return [sha1hex for sha1hex in subjects if sha1hex in stored_sha1hexes]


def _list_names(url: str) -> tuple[str, str]:
    """Return the file name in a URL, and the file name in the URL without its fragment.

    They differ if the fragment names a member of a ZIP.
    """
    return file_name(url), file_name(url.partition("#")[0])


def find_entries(records: Records, key: str, count_max: int) -> tuple[list[EntryRow], int]:
    """Return up to `count_max` entries that match a key, newest first, and the number of all
    matching entries.

    A key is an entry id, a location of a record, a URL, or a path or URL of an input (WARC, ZIP,
    index or list).
    """
    by_id = list(records.find(EntryRow, {"entry_id": [key, *list_record_entries(records, key)]}))
    if by_id:
        return by_id, len(by_id)
    by_url = {
        "url": list(
            dict.fromkeys((key.strip(), normalize_requested_url(key), *list_path_urls(key)))
        )
    }
    by_input = {"input_id": list_path_inputs(records, key)}
    filters = [by_url, by_input] if by_input["input_id"] else [by_url]
    order = ("-entered_at", "entry_id")
    matches = {
        (row.entry_id, row.pipeline): row
        for conditions in filters
        for row in records.find(EntryRow, conditions, order=order, count_max=count_max)
    }
    newest = sorted(matches.values(), key=lambda row: row.entry_id)
    newest = sorted(newest, key=lambda row: row.entered_at, reverse=True)[:count_max]
    if len(matches) < count_max:
        return newest, len(matches)
    total = records.count(EntryRow, (), by_url | by_input)[()] if len(filters) > 1 else 0
    return newest, sum(
        records.count(EntryRow, (), conditions)[()] for conditions in filters
    ) - total


def list_history(
    records: Records, subject_id: str, count_max: int | None = None
) -> list[DispositionRow]:
    """Return the dispositions (statuses) of messages about one subject, oldest first.

    `subject_id` is the subject, for example the SHA-1 of a file. `count_max` is the maximum number
    of dispositions; None for all.
    """
    order = ("promised_at", "step")
    return list(
        records.find(DispositionRow, {"about": subject_id}, order=order, count_max=count_max)
    )
