"""Repair of links whose messages were lost: rebuilds each link from its list, or from the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fonds.audit.repair.context import RepairContext
from fonds.following.link_rules import build_link
from fonds.following.poll_links import POLL
from fonds.model.capture import RssEntry
from fonds.model.entry import Entry, Link, TlsCheck, build_link_entry
from fonds.model.rows import EntryRow, InputRow, SourceRow
from fonds.ports import Source


@dataclass(frozen=True, slots=True)
class LinkLists:
    """How the lists of links of one pipeline are read.

    `open_list`: opens a list, as ingestion does, given its path and the collection of its links.
    `needs_list`: whether a link cannot be fetched without what its list states about it.
    """

    open_list: Callable[[Path, str], Source]
    needs_list: bool = False


def rebuild_links(
    context: RepairContext, rows: Sequence[EntryRow], lists: LinkLists | None
) -> dict[str, Entry]:
    """Build the entries of links again, with their messages. Return them by entry id.

    `rows`: rows of the links in the ledger, all of one pipeline.
    `lists`: how lists of the pipeline are read; None if it reads no lists.

    What a list or feed stated about a link, such as its title, is known only from a list that can
    still be read. Links that cannot be rebuilt are left out.
    """
    by_input: dict[tuple[str, str], list[EntryRow]] = {}
    for row in rows:
        by_input.setdefault((row.input_id, row.pipeline), []).append(row)
    entries: dict[str, Entry] = {}
    for key, input_rows in sorted(by_input.items()):
        input_row = next(iter(context.stores.records.get(InputRow, [key])), None)
        wanted = {row.entry_id: row for row in input_rows}
        if lists is not None and input_row is not None and input_row.kind != POLL:
            entries |= _read_list(lists, input_row, wanted)
        for row in input_rows:
            if row.entry_id not in entries and not (lists is not None and lists.needs_list):
                entries[row.entry_id] = build_link_entry(_build_link(context, row, input_row))
    return entries


def _read_list(
    lists: LinkLists, input_row: InputRow, wanted: dict[str, EntryRow]
) -> dict[str, Entry]:
    """Return those of the wanted links that a list on this machine still contains, by entry id."""
    entries: dict[str, Entry] = {}
    if not input_row.path.startswith("/"):
        return entries
    collection = next(iter(wanted.values())).collection
    source = lists.open_list(Path(input_row.path), collection)
    for row in source.iter_inputs():
        if row.input_id != input_row.input_id:
            continue
        for entry in source.iter_entries(row):
            if isinstance(entry, Entry) and entry.id in wanted:
                if entry.url == wanted[entry.id].url:
                    entries[entry.id] = entry
                if len(entries) == len(wanted):
                    break
    return entries


def _build_link(context: RepairContext, row: EntryRow, input_row: InputRow | None) -> Link:
    """Build a link from its row in the ledger.

    `input_row`: row of its poll or list; None if it is missing.
    """
    via = input_row.path if input_row is not None else None
    rss_entry, tls = RssEntry(link=row.url, via=via), TlsCheck.FULL
    is_poll = input_row is not None and input_row.kind == POLL
    if is_poll:
        source_id = row.input_id.rpartition(".")[0]
        for source in context.stores.records.get(SourceRow, [source_id]):
            rss_entry = replace(rss_entry, source_url=source.url, via=row.input_id)
            tls = TlsCheck(source.tls)
    link = build_link(
        row.url,
        row.input_id,
        replace(rss_entry, fetch_date=f"{row.entered_at:%Y-%m-%d}"),
        collection=row.collection,
        found_at=row.entered_at,
        tls=tls,
        # A person named the links of an input without a path.
        allows_any_site=not is_poll
        and via is not None
        and not via.startswith("/")
        and "://" not in via,
    )
    return replace(link, id=row.entry_id)
