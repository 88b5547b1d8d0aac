"""One poll as the intake reads it: an input whose entries are the links it found new.

A poll is a row of `inputs`: `compute_input_id` is source and number, `fingerprint` what it saw, as JSON.
What was entered before is known by the entries on the books: nothing else is kept of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha1
from itertools import islice

import msgspec

from fonds.following.link_rules import LinkRules, build_link, normalize_requested_url
from fonds.following.listings.listing import Listing
from fonds.following.refused_links import (
    DETAIL_CHARS,
    ROWS_A_POLL,
    URL_CHARS,
    hash_url,
)
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.entry import LINK, Entry, Link, TlsCheck, build_link_entry
from fonds.model.rows import EntryRow, InputRow, RefusedLinkRow, SourceRow
from fonds.pipelines.runtime.intake import build_unread_input
from fonds.ports import Records
from fonds.urls.normalization import find_canonical_domain

POLL = "poll"
CHUNK = 200
REFUSED_LINKS_MAX = 5_000


@dataclass(frozen=True, slots=True)
class SiftedLinks:
    """A listing's links sorted out: those to enter, how many are known, and those refused, by reason.

    `refused` holds ids of all that were refused, with their reasons; `newly_refused` counts, by reason, those
    the listing before did not have, and `refused_links` has rows of them, a thousand at most.
    """

    links: tuple[Link, ...] = ()
    known_count: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)
    newly_refused: Mapping[str, int] = field(default_factory=dict)
    refused_links: Sequence[RefusedLinkRow] = ()


def compute_input_id(row: SourceRow) -> str:
    """The id of the poll a source is at."""
    return f"{row.source_id}.{row.polls:06d}"


def poll_row(
    row: SourceRow, notes: Mapping[str, object], error: str | None, now: datetime
) -> InputRow:
    """A poll as an input; `notes` is what was seen."""
    return build_unread_input(
        compute_input_id(row), row.url, POLL, msgspec.json.encode(notes).decode(), now, error
    )


def sift(
    row: SourceRow, listing: Listing, rules: LinkRules, records: Records, now: datetime
) -> SiftedLinks:
    """What of a listing is to be entered. Links this very poll entered before it was broken off are."""
    poll, links = compute_input_id(row), dict[str, Link]()
    refused: dict[str, str] = {}
    rows: dict[str, RefusedLinkRow] = {}
    before = row.refused or {}
    known = 0
    for entry in listing.entries:
        why = rules.find_refusal(entry.link)
        if why is None and row.kind == "page" and not _is_own_link(entry.link or "", row.url):
            continue
        if why is not None:
            refused_id = _compute_refused_id(entry)
            refused[refused_id] = str(why[0])
            if entry.link and refused_id not in before and len(rows) < ROWS_A_POLL:
                one = _build_refused_row(row, entry.link, why, now)
                rows.setdefault(one.url_sha1, one)
            continue
        link = _build_link(row, entry, poll, now)
        known += link.id in links
        links.setdefault(link.id, link)
    met = _find_known_urls(records, row.pipeline, [link.url for link in links.values()], poll)
    fresh = [link for link in links.values() if link.url not in met]
    anew = Counter(why for one, why in refused.items() if one not in before)
    kept = dict(islice(refused.items(), REFUSED_LINKS_MAX))
    known += len(links) - len(fresh)
    return SiftedLinks(tuple(fresh), known, kept, anew, tuple(rows.values()))


def _build_refused_row(
    row: SourceRow, link: str, refusal: tuple[Reason, str], now: datetime
) -> RefusedLinkRow:
    reason, detail = refusal
    return RefusedLinkRow(
        url_sha1=hash_url(link),
        source_id=row.source_id,
        url=normalize_requested_url(link)[:URL_CHARS],
        source_url=row.url,
        pipeline=row.pipeline,
        input_id=compute_input_id(row),
        reason=str(reason),
        detail=detail[:DETAIL_CHARS],
        refused_at=now,
    )


@dataclass(frozen=True, slots=True)
class PollSource:
    """A Source of one input: the links a poll found, and those it entered before it was broken off."""

    row: InputRow
    source: SourceRow
    sifted: SiftedLinks
    records: Records

    def iter_inputs(self) -> Iterator[InputRow]:
        """The poll."""
        yield self.row

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Its links, and what was refused."""
        where = {"input_id": row.input_id, "pipeline": self.source.pipeline}
        left = {one.entry_id: one for one in self.records.find(EntryRow, where)}
        for link in self.sifted.links:
            left.pop(link.id, None)
            yield build_link_entry(link)
        for gone in left.values():
            # Listed when the poll was begun, and no more when it was begun again: on the books all the same.
            yield build_link_entry(
                _build_link(self.source, RssEntry(link=gone.url), row.input_id, gone.entered_at)
            )
        if self.sifted.newly_refused:
            yield self.sifted.newly_refused


def _build_link(row: SourceRow, entry: RssEntry, poll: str, now: datetime) -> Link:
    return build_link(
        entry.link or "",
        poll,
        _set_source(entry, row, now),
        collection=row.collection,
        found_at=now,
        tls=TlsCheck(row.tls),
    )


def _set_source(entry: RssEntry, row: SourceRow, now: datetime) -> RssEntry:
    return replace(
        entry,
        source_url=entry.source_url or row.url,
        fetch_date=entry.fetch_date or f"{now:%Y-%m-%d}",
        via=entry.via or compute_input_id(row),
    )


def _find_known_urls(records: Records, pipeline: str, urls: Sequence[str], poll: str) -> set[str]:
    """Those of these addresses that another poll or list entered into the pipeline."""
    met = set[str]()
    for start in range(0, len(urls), CHUNK):
        where = {"url": list(urls[start : start + CHUNK]), "pipeline": pipeline, "kind": LINK}
        met |= {one.url for one in records.find(EntryRow, where) if one.input_id != poll}
    return met


def _is_own_link(url: str, page: str) -> bool:
    return find_canonical_domain(url) == find_canonical_domain(page)


def _compute_refused_id(entry: RssEntry) -> str:
    told = "\0".join((entry.link or "", entry.title or "", entry.pub_date or ""))
    return sha1(told.encode("utf-8", "replace")).hexdigest()[:12]  # noqa: S324 (a key, not a seal)
