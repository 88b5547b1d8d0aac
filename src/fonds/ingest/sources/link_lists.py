"""Links out of files: tables of addresses (CSV, or one a line) and whole-day RSS, packed with gzip or not.

A file is the same input as long as its whole name, size and time are. What is known of an address is asked
of the entries on the books: nothing grows with a file, and an address is entered once however often it
stands in it.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from fonds.following.link_rules import LinkRules, build_link, normalize_requested_url
from fonds.ingest.sources.link_rows import DOWNLOADS, READERS, LinkSample, ListedLink, Row
from fonds.ingest.sources.remote_files import RemoteFile, RemoteFileStore, is_remote
from fonds.ingest.sources.walk import FoundPath, iter_files
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.entry import (
    LINK,
    Entry,
    Link,
    TlsCheck,
    UnreadTally,
    build_link_entry,
    compute_input_id,
)
from fonds.model.errors import LimitError, PermanentError, cause_of, find_shortage
from fonds.model.rows import EntryRow, InputRow
from fonds.pipelines.runtime.intake import build_failed_input, build_unread_input
from fonds.ports import Records
from fonds.urls.normalization import find_canonical_domain

CHUNK = 200
RECENT_MAX = 2_000
"""Addresses given out lately, which may not be on the books yet."""


@dataclass(frozen=True, slots=True)
class LinkListSource:
    """A Source of what a person names: paths, folders, URLs of http(s) and `s3://` with a `*` at the end.

    `form` is what the files are (`rows.py`), `downloads_url` where downloads lie. `records` None: nothing
    is known, as where there is no home yet. `allows_known` makes files inputs they were not before, and
    takes their links whatever was entered out of others. `problems` takes a sentence for each file that
    could not be read, or not to its end."""

    names: Sequence[str]
    form: str
    home: Path
    pipeline: str
    collection: str
    rules: LinkRules
    remotes: RemoteFileStore
    clock: Callable[[], datetime]
    records: Records | None = None
    follows_links: bool = False
    allows_known: bool = False
    tls: TlsCheck = TlsCheck.FULL
    choice: LinkSample = field(default_factory=LinkSample)
    problems: list[str] = field(default_factory=list)
    downloads_url: str = ""

    def iter_inputs(self) -> Iterator[InputRow]:
        """One input a file; what cannot be read is one too."""
        for name in self.names:
            if is_remote(name):
                yield from (self._build_remote_input(found) for found in self.remotes.find(name))
            else:
                found_paths = iter_files([Path(name)], self.home, follow=self.follows_links)
                yield from (
                    self._build_local_input(found)
                    for found in found_paths
                    if self._is_within_named(found)
                )

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """The links of one file from `row.position` on; what is refused is counted by its reason."""
        if row.error is not None:
            reason = Reason.MISSING_SOURCE if row.kind == "missing" else Reason.UNREADABLE_SOURCE
            yield self._build_broken(row, reason, row.error)
            return
        try:
            path = (
                self.remotes.fetch(row.path, self._local_copy_path(row))
                if is_remote(row.path)
                else Path(row.path)
            )
            yield from self._read(row, path)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield self._build_broken(
                row, Reason.DAMAGED_RECORD, f"unpacking fails: {cause_of(error)}"
            )
        except LimitError as error:
            yield self._build_broken(row, error.reason, error.detail)
        except PermanentError as error:
            yield self._build_broken(row, error.reason, error.detail)
        except OSError as error:
            if (short := find_shortage(error)) is not None:
                raise short from error
            yield self._build_broken(row, Reason.UNREADABLE_SOURCE, cause_of(error))
        else:
            if is_remote(row.path) and not self.choice.is_full():
                self._local_copy_path(row).unlink(missing_ok=True)

    def _read(self, row: InputRow, path: Path) -> Iterator[Entry | Mapping[str, int] | int]:
        read = READERS[self.form]
        recent: OrderedDict[str, None] = OrderedDict()
        with closing(read(path, row.path, self.downloads_url)) as rows:
            ahead = (one for one in rows if one[0] >= row.position)
            while some := list(islice(ahead, CHUNK)):
                tally: Counter[str] = Counter()
                for number, found in self._iter_sifted(row, some, recent):
                    if isinstance(found, Reason):
                        tally[str(found)] += 1
                        continue
                    if self.choice.is_full():
                        # The line is read again in the next run.
                        yield tally
                        yield number
                        return
                    self.choice.taken_count += 1
                    yield found
                yield tally
                yield some[-1][0] + 1

    def _iter_sifted(
        self, row: InputRow, rows: Sequence[Row], recent: OrderedDict[str, None]
    ) -> Iterator[tuple[int, Entry | Reason]]:
        """What comes of some lines, with their numbers: an entry, or why there is none."""
        judged = [(number, told, self._find_refusal(told)) for number, told in rows]
        met = self._find_known(row, [_get_url(told) for _, told, why in judged if why is None])
        for number, told, why in judged:
            url, own = _get_url(told), f"{row.input_id}-{number:012x}"
            if why is None:
                why = _classify_known(
                    row, own, met.get(url, row.input_id if url in recent else own)
                )
            if why is not None or told is None:
                yield number, why or Reason.BAD_INDEX_LINE
                continue
            recent[url] = None
            if len(recent) > RECENT_MAX:
                recent.popitem(last=False)
            yield number, build_link_entry(self._build_link(row, told, own))

    def _build_link(self, row: InputRow, listed_link: ListedLink, entry_id: str) -> Link:
        link = build_link(
            listed_link.url,
            row.input_id,
            listed_link.entry,
            collection=self.collection,
            found_at=self.clock(),
            tls=self.tls,
            allows_any_site=not self.rules.non_news,
        )
        if self.form != DOWNLOADS:
            return replace(link, id=entry_id)
        return replace(
            link,
            id=entry_id,
            domain=find_canonical_domain(listed_link.page) if listed_link.page else "",
            final_url=listed_link.final_url,
            fetch_timestamp=listed_link.fetch_timestamp,
        )

    def _find_refusal(self, link: ListedLink | None) -> Reason | None:
        if link is None:
            return Reason.BAD_INDEX_LINE
        refusal = None if link.page is None else self.rules.find_refusal(link.page)
        if refusal is not None:
            return refusal[0]
        return None if self.choice.is_sampled(link.url) else Reason.NOT_SAMPLED

    def _find_known(self, row: InputRow, urls: Sequence[str]) -> dict[str, str]:
        """Those of these addresses that are on the books of the pipeline, with the first entry of each. With
        `again` only those of this input, and those that wait to be fetched."""
        if self.records is None or not urls:
            return {}
        where = {"url": list(dict.fromkeys(urls)), "pipeline": self.pipeline, "kind": LINK}
        if not self.allows_known:
            return self._load_first_entries(self.records, where)
        pending = self._load_first_entries(self.records, {**where, "outcome": "pending"})
        return pending | self._load_first_entries(self.records, {**where, "input_id": row.input_id})

    @staticmethod
    def _load_first_entries(records: Records, where: Mapping[str, object]) -> dict[str, str]:
        """The smallest id of an entry of each address."""
        met: dict[str, str] = {}
        for one in records.find(EntryRow, where):
            met[one.url] = min(one.entry_id, met.get(one.url, one.entry_id))
        return met

    def _build_broken(self, row: InputRow, reason: Reason, detail: str) -> Mapping[str, int]:
        self.problems.append(f"{row.path}: {detail}")
        return UnreadTally(reason, detail)

    def _local_copy_path(self, row: InputRow) -> Path:
        """Where a file from elsewhere lies while it is read."""
        return self.home / "inbox" / f"list-{row.input_id}"

    def _is_within_named(self, found_path: FoundPath) -> bool:
        """Links that lead out of what was named are left alone; without --follow nothing is behind them."""
        return not found_path.is_led_out

    def _build_local_input(self, found_path: FoundPath) -> InputRow:
        path = os.fsencode(found_path.path).decode("utf-8", "backslashreplace")
        kind = "missing" if found_path.is_missing else "links"
        version = f"{found_path.size_bytes}:{found_path.modified_ns}"
        return self._build_input(
            path, kind, version, found_path.error, found_path.modified_ns / 1e9
        )

    def _build_remote_input(self, remote_file: RemoteFile) -> InputRow:
        kind = "missing" if remote_file.is_missing else "links"
        version = f"{remote_file.size_bytes}:{remote_file.version}"
        return self._build_input(remote_file.url, kind, version, remote_file.error, 0.0)

    def _build_input(
        self, path: str, kind: str, version: str, error: str | None, seconds: float
    ) -> InputRow:
        updated = datetime.fromtimestamp(seconds, UTC) if seconds else self.clock()
        if error is not None:
            return build_failed_input(path, kind, updated, error)
        share = "" if self.choice.percent >= 100.0 else f":{self.choice.percent:g}%"
        anew = f":{self.clock().isoformat()}" if self.allows_known else ""
        fingerprint = f"{version}:{self.form}{share}{anew}"
        found = compute_input_id(path.encode(), fingerprint)
        return build_unread_input(found, path, kind, fingerprint, updated)


def _classify_known(row: InputRow, entry_id: str, first: str) -> Reason | None:
    """Why an address is no new link when its first entry is `first`; None for one that is."""
    if first == entry_id:
        return None
    return Reason.REPEATED if first.startswith(row.input_id) else Reason.KNOWN_LINK


def _get_url(link: ListedLink | None) -> str:
    return normalize_requested_url(link.url) if link is not None else ""


# Links a person names now: addresses on the command line or on standard input.


LINKS = "links"
MARK_EVERY = 200


@dataclass(frozen=True, slots=True)
class NamedLinkSource:
    """Addresses a person names now: `named_at` (aware UTC) tells this time from all others, so that they are
    fetched whatever was fetched before.
    """

    urls: Sequence[str]
    collection: str
    named_at: datetime
    tls: TlsCheck = TlsCheck.FULL
    via: str = "the command line"

    def iter_inputs(self) -> Iterator[InputRow]:
        """One input for all of them."""
        if self.urls:
            told = "\n".join(self.urls).encode("utf-8", "surrogateescape")
            when = self.named_at.isoformat()
            yield build_unread_input(
                compute_input_id(told, when), self.via, LINKS, when, self.named_at
            )

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """A link for each address beyond the position of the row; one that is named again is counted."""
        found = RssEntry(via=self.via, fetch_date=self.named_at.date().isoformat())
        seen: set[str] = set()
        for number, url in enumerate(self.urls, 1):
            link = build_link(
                url,
                row.input_id,
                found,
                collection=self.collection,
                found_at=self.named_at,
                tls=self.tls,
                allows_any_site=True,
            )
            is_new = link.id not in seen
            seen.add(link.id)
            if number > row.position:
                yield build_link_entry(link) if is_new else {str(Reason.REPEATED): 1}
                if number % MARK_EVERY == 0:
                    yield number


# The links of lists in another order, and no more of them than are wanted in one run.


@dataclass(frozen=True, slots=True)
class ShuffledSource:
    """A Source in another order: links within some thousand of each other change places, so that those of
    one site do not stand together. `shuffle` puts a list in another order, in place."""

    source: LinkListSource
    shuffle: Callable[[list[Entry]], None]
    window: int = 2_500

    def iter_inputs(self) -> Iterator[InputRow]:
        """The same."""
        return self.source.iter_inputs()

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """The same, a window at a time; a position is told only when all before it was given out."""
        held: list[Entry] = []
        tally: Counter[str] = Counter()
        position, unread = row.position, list[UnreadTally]()
        for found in self.source.iter_entries(row):
            if isinstance(found, Entry):
                held.append(found)
            elif isinstance(found, UnreadTally):
                unread.append(found)
            elif isinstance(found, Mapping):
                tally.update(found)
            else:
                position = found
                if len(held) >= self.window or self.source.choice.is_full():
                    self.shuffle(held)
                    yield from held
                    yield tally
                    yield position
                    held, tally = [], Counter()
        self.shuffle(held)
        yield from held
        yield tally
        if unread:
            # All that was held lies before it.
            yield position
            yield from unread


@dataclass(frozen=True, slots=True)
class LimitedSource:
    """A Source that says when enough was taken in this run: `is_done` then tells the intake to stop, behind
    a position from which the next run goes on."""

    source: LinkListSource | ShuffledSource
    choice: LinkSample

    def iter_inputs(self) -> Iterator[InputRow]:
        """The same."""
        return self.source.iter_inputs()

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """The same."""
        for found in self.source.iter_entries(row):
            if isinstance(found, int) and self.choice.is_full():
                self.choice.is_done = True
            yield found

    @property
    def problems(self) -> list[str]:
        """A sentence for each file that could not be read, or not to its end, so far."""
        lists = self.source.source if isinstance(self.source, ShuffledSource) else self.source
        return lists.problems

    def is_done(self) -> bool:
        """Whether the intake is to stop."""
        return self.choice.is_done
