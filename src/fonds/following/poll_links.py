"""Enter the new links of one poll into the pipeline: the poll is an input, and its entries are the
new links that it found.

A poll is a row of the table `inputs`. Its id combines source and poll number (`compute_input_id`).
Its `fingerprint` holds the notes of the poll as JSON. A link is known if an earlier entry has the
same URL; nothing else is stored to recognise it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha1
from itertools import islice

from fonds.following.link_rules import LinkRules, build_link, normalize_requested_url
from fonds.following.listings.listing import Listing
from fonds.following.poll_notes import PollNotes, encode_poll_notes
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
    """Links of a listing, divided into new, known and refused links.

    - `links`: new links.
    - `known_count`: number of links that this listing repeats, or that another poll or list has
      entered.
    - `refused`: reason codes of links that the link rules refuse, by a hash of link, title and
      date; at most 5,000.
    - `newly_refused`: number of refused links that the previous listing did not have, by reason
      code.
    - `refused_links`: database rows to store for the newly refused links; at most 1,000.
    """

    links: tuple[Link, ...] = ()
    known_count: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)
    newly_refused: Mapping[str, int] = field(default_factory=dict)
    refused_links: Sequence[RefusedLinkRow] = ()


def compute_input_id(row: SourceRow) -> str:
    """Return the id of the row of `inputs` for the current poll of a source."""
    return f"{row.source_id}.{row.polls:06d}"


def build_poll_row(row: SourceRow, notes: PollNotes, error: str | None, now: datetime) -> InputRow:
    """Build the row of `inputs` for a poll. `error` is the error of the poll, or None."""
    return build_unread_input(
        compute_input_id(row), row.url, POLL, encode_poll_notes(notes), now, error
    )


def sift(
    row: SourceRow, listing: Listing, rules: LinkRules, records: Records, now: datetime
) -> SiftedLinks:
    """Divide the links of a listing into new, known and refused links.

    Links that this same poll entered before an interruption count as new. For a source that is a
    page, links to other sites are ignored.
    """
    poll, links = compute_input_id(row), dict[str, Link]()
    current_refusals: dict[str, str] = {}
    rows: dict[str, RefusedLinkRow] = {}
    previous_refusals = row.refused or {}
    known_count = 0
    for entry in listing.entries:
        refusal = rules.find_refusal(entry.link)
        if refusal is None and row.kind == "page" and not _is_own_link(entry.link or "", row.url):
            continue
        if refusal is not None:
            refused_id = _compute_refused_id(entry)
            current_refusals[refused_id] = str(refusal[0])
            if entry.link and refused_id not in previous_refusals and len(rows) < ROWS_A_POLL:
                refused_row = _build_refused_row(row, entry.link, refusal, now)
                rows.setdefault(refused_row.url_sha1, refused_row)
            continue
        link = _build_link(row, entry, poll, now)
        known_count += link.id in links
        links.setdefault(link.id, link)
    known_urls = _find_known_urls(
        records, row.pipeline, [link.url for link in links.values()], poll
    )
    new_links = [link for link in links.values() if link.url not in known_urls]
    newly_refused = Counter(
        refusal
        for refused_row, refusal in current_refusals.items()
        if refused_row not in previous_refusals
    )
    stored_refusals = dict(islice(current_refusals.items(), REFUSED_LINKS_MAX))
    known_count += len(links) - len(new_links)
    return SiftedLinks(
        tuple(new_links), known_count, stored_refusals, newly_refused, tuple(rows.values())
    )


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
    """One poll of a followed source, as an input of the pipeline.

    Its entries are the new links of the poll, including those that it recorded before an
    interruption.

    - `row`: row of `inputs` for the poll.
    - `source`: row of `sources` for the followed source.
    - `sifted`: links of the listing, divided into new, known and refused links.
    """

    row: InputRow
    source: SourceRow
    sifted: SiftedLinks
    records: Records

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield the row of `inputs` for the poll, which is the only input."""
        yield self.row

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield an entry for each new link of the poll, then the number of newly refused links by
        reason code.
        """
        conditions = {"input_id": row.input_id, "pipeline": self.source.pipeline}
        remaining = {entry.entry_id: entry for entry in self.records.find(EntryRow, conditions)}
        for link in self.sifted.links:
            remaining.pop(link.id, None)
            yield build_link_entry(link)
        for entry_row in remaining.values():
            # Entered before an interruption and no longer listed; it still belongs to this poll.
            yield build_link_entry(
                _build_link(
                    self.source, RssEntry(link=entry_row.url), row.input_id, entry_row.entered_at
                )
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
    """Return those of the URLs that were entered into the pipeline by other polls or lists than
    `poll`.
    """
    known_urls = set[str]()
    for start in range(0, len(urls), CHUNK):
        conditions = {"url": list(urls[start : start + CHUNK]), "pipeline": pipeline, "kind": LINK}
        known_urls |= {
            entry.url for entry in records.find(EntryRow, conditions) if entry.input_id != poll
        }
    return known_urls


def _is_own_link(url: str, page: str) -> bool:
    return find_canonical_domain(url) == find_canonical_domain(page)


def _compute_refused_id(entry: RssEntry) -> str:
    fields_text = "\0".join((entry.link or "", entry.title or "", entry.pub_date or ""))
    return sha1(fields_text.encode("utf-8", "replace")).hexdigest()[:12]  # noqa: S324 (a key, not security)
