"""Sources of links from files: lists of URLs (CSV, or one URL per line) and whole days of RSS.

Files may be compressed with gzip. A file is the same input while its full path, size and
modification time stay the same. Each URL is looked up in the ledger (the record of all entries), so
a URL is entered only once and memory does not grow with the file.
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
from fonds.ingest.sources.link_rows import DOWNLOADS, READERS, ListedLink, OpenIsolate, Row
from fonds.ingest.sources.link_sample import LinkSample
from fonds.ingest.sources.remote_files import RemoteFile, RemoteFileStore, is_remote
from fonds.ingest.sources.walk import FoundPath, iter_files
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

CHUNK_ROWS = 200
RECENT_MAX = 2_000
"""Maximum number of URLs that a list source remembers after it yielded them, because the ledger may
not have them yet.
"""


@dataclass(frozen=True, slots=True)
class LinkListSource:
    """Source of links from the files that a user names.

    - `names`: paths, folders, http(s) URLs, and `s3://BUCKET/PREFIX*`.
    - `form`: format of the files, one of the formats in `link_rows.py`.
    - `home`: folder of the library.
    - `open_isolate`: starts an isolated process, which parses whole days of RSS.
    - `records`: SQL rows of the library; None if the library does not exist yet.
    - `follows_links`: whether to follow symbolic links out of the named folders.
    - `allows_known`: also yield links that other inputs have entered, and treat each file as new.
    - `sample`: decides which of the links are taken: a sample, a maximum number, or all.
    - `problems`: receives one sentence for each file that could not be read to its end.
    - `downloads_url`: URL below which an old system stored its pages (downloads).
    """

    names: Sequence[str]
    form: str
    home: Path
    pipeline: str
    collection: str
    rules: LinkRules
    remotes: RemoteFileStore
    clock: Callable[[], datetime]
    open_isolate: OpenIsolate
    records: Records | None = None
    follows_links: bool = False
    allows_known: bool = False
    tls: TlsCheck = TlsCheck.FULL
    sample: LinkSample = field(default_factory=LinkSample)
    problems: list[str] = field(default_factory=list)
    downloads_url: str = ""

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield one input row per list file. A file that cannot be read has a row too."""
        for name in self.names:
            if is_remote(name):
                yield from (self._build_remote_input(path) for path in self.remotes.find(name))
            else:
                found_paths = iter_files([Path(name)], self.home, follows_links=self.follows_links)
                yield from (
                    self._build_local_input(path)
                    for path in found_paths
                    if self._is_within_named(path)
                )

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the links of a list file from line `row.position` on.

        Between the links (entries), yields positions as numbers, from which a later call can
        resume, and the number of refused lines by reason as mappings.
        """
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
                row, Reason.DAMAGED_RECORD, f"decompression failed: {cause_of(error)}"
            )
        except LimitError as error:
            yield self._build_broken(row, error.reason, error.detail)
        except PermanentError as error:
            yield self._build_broken(row, error.reason, error.detail)
        except OSError as error:
            if (shortage := find_shortage(error)) is not None:
                raise shortage from error
            yield self._build_broken(row, Reason.UNREADABLE_SOURCE, cause_of(error))
        else:
            if is_remote(row.path) and not self.sample.is_full():
                self._local_copy_path(row).unlink(missing_ok=True)

    def _read(self, row: InputRow, path: Path) -> Iterator[Entry | Mapping[str, int] | int]:
        read_rows = READERS[self.form]
        recent_urls: OrderedDict[str, None] = OrderedDict()
        with closing(read_rows(path, row.path, self.downloads_url, self.open_isolate)) as rows:
            unread_rows = (numbered_row for numbered_row in rows if numbered_row[0] >= row.position)
            while chunk := list(islice(unread_rows, CHUNK_ROWS)):
                tally: Counter[str] = Counter()
                for number, result in self._iter_sifted(row, chunk, recent_urls):
                    if isinstance(result, Reason):
                        tally[str(result)] += 1
                        continue
                    if self.sample.is_full():
                        # The next run reads this line again.
                        yield tally
                        yield number
                        return
                    self.sample.taken_count += 1
                    yield result
                yield tally
                yield chunk[-1][0] + 1

    def _iter_sifted(
        self, row: InputRow, rows: Sequence[Row], recent_urls: OrderedDict[str, None]
    ) -> Iterator[tuple[int, Entry | Reason]]:
        """Yield for each link row its line number, and either an entry or the reason for refusing
        the link.

        `recent_urls` contains the latest accepted URLs, which may not be in the ledger yet. It is
        updated.
        """
        judged_rows = [(number, link, self._find_refusal(link)) for number, link in rows]
        first_entries = self._find_known(
            row, [_get_url(link) for _, link, reason in judged_rows if reason is None]
        )
        for number, link, reason in judged_rows:
            url, entry_id = _get_url(link), f"{row.input_id}-{number:012x}"
            if reason is None:
                reason = _classify_known(
                    row,
                    entry_id,
                    first_entries.get(url, row.input_id if url in recent_urls else entry_id),
                )
            if reason is not None or link is None:
                yield number, reason or Reason.BAD_INDEX_LINE
                continue
            recent_urls[url] = None
            if len(recent_urls) > RECENT_MAX:
                recent_urls.popitem(last=False)
            yield number, build_link_entry(self._build_link(row, link, entry_id))

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
        return None if self.sample.is_sampled(link.url) else Reason.NOT_SAMPLED

    def _find_known(self, row: InputRow, urls: Sequence[str]) -> dict[str, str]:
        """Return those of the URLs that already have an entry in the pipeline's ledger, with the id
        of the first such entry.

        If `allows_known` is set, only entries of the input `row` and links of any input that are
        not fetched yet are considered.
        """
        if self.records is None or not urls:
            return {}
        conditions = {"url": list(dict.fromkeys(urls)), "pipeline": self.pipeline, "kind": LINK}
        if not self.allows_known:
            return self._load_first_entries(self.records, conditions)
        pending_entries = self._load_first_entries(
            self.records, {**conditions, "outcome": "pending"}
        )
        return pending_entries | self._load_first_entries(
            self.records, {**conditions, "input_id": row.input_id}
        )

    @staticmethod
    def _load_first_entries(records: Records, conditions: Mapping[str, object]) -> dict[str, str]:
        """Return the smallest entry id of each URL among the ledger entries that match the
        conditions.
        """
        first_ids: dict[str, str] = {}
        for entry in records.find(EntryRow, conditions):
            first_ids[entry.url] = min(entry.entry_id, first_ids.get(entry.url, entry.entry_id))
        return first_ids

    def _build_broken(self, row: InputRow, reason: Reason, detail: str) -> Mapping[str, int]:
        self.problems.append(f"{row.path}: {detail}")
        return UnreadTally(reason, detail)

    def _local_copy_path(self, row: InputRow) -> Path:
        """Return the path in the library folder at which a remote list file is stored while it is
        read.
        """
        return self.home / "inbox" / f"list-{row.input_id}"

    def _is_within_named(self, found_path: FoundPath) -> bool:
        """Return whether a found path is read. False for a symbolic link out of the named paths."""
        return not found_path.is_outside

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
        self, path: str, kind: str, version: str, error: str | None, modified_s: float
    ) -> InputRow:
        updated_at = datetime.fromtimestamp(modified_s, UTC) if modified_s else self.clock()
        if error is not None:
            return build_failed_input(path, kind, updated_at, error)
        sample_suffix = "" if self.sample.percent >= 100.0 else f":{self.sample.percent:g}%"
        repeat_suffix = f":{self.clock().isoformat()}" if self.allows_known else ""
        fingerprint = f"{version}:{self.form}{sample_suffix}{repeat_suffix}"
        input_id = compute_input_id(path.encode(), fingerprint)
        return build_unread_input(input_id, path, kind, fingerprint, updated_at)


def _classify_known(row: InputRow, entry_id: str, first_id: str) -> Reason | None:
    """Return the reason for refusing a link whose URL has an earlier entry; None if the link is
    accepted.

    `first_id` is the id of the URL's first entry, `entry_id` the id of the link's own entry. If
    they are equal, the link is accepted. Otherwise the reason is REPEATED if the first entry is
    from the same input, else KNOWN_LINK.
    """
    if first_id == entry_id:
        return None
    return Reason.REPEATED if first_id.startswith(row.input_id) else Reason.KNOWN_LINK


def _get_url(link: ListedLink | None) -> str:
    return normalize_requested_url(link.url) if link is not None else ""


@dataclass(frozen=True, slots=True)
class ShuffledSource:
    """Source that yields the links of a list in shuffled order, so that links of one site do not
    come in sequence.

    - `source`: source of the list.
    - `shuffle`: reorders a list of entries in place.
    - `window_size`: number of links that are shuffled together.
    """

    source: LinkListSource
    shuffle: Callable[[list[Entry]], None]
    window_size: int = 2_500

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield the inputs of the source whose links are shuffled."""
        return self.source.iter_inputs()

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the entries of an input in shuffled order, with counts of refused lines and
        positions.

        A position (from which a later call can resume) is yielded only after all entries before it.
        """
        window: list[Entry] = []
        tally: Counter[str] = Counter()
        position, unread_tallies = row.position, list[UnreadTally]()
        for item in self.source.iter_entries(row):
            if isinstance(item, Entry):
                window.append(item)
            elif isinstance(item, UnreadTally):
                unread_tallies.append(item)
            elif isinstance(item, Mapping):
                tally.update(item)
            else:
                position = item
                if len(window) >= self.window_size or self.source.sample.is_full():
                    self.shuffle(window)
                    yield from window
                    yield tally
                    yield position
                    window, tally = [], Counter()
        self.shuffle(window)
        yield from window
        yield tally
        if unread_tallies:
            # All entries of the window come before it.
            yield position
            yield from unread_tallies


@dataclass(frozen=True, slots=True)
class LimitedSource:
    """Source that yields the links of another source until a maximum number was taken in this run.

    The next run resumes at the position where this run stopped.

    - `source`: the other source.
    - `sample`: has the maximum, and the number of links that the other source has taken.
    """

    source: LinkListSource | ShuffledSource
    sample: LinkSample

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield the inputs of the source whose links are limited."""
        return self.source.iter_inputs()

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield what the other source yields for an input. At the first position after the maximum
        was reached, `is_done` becomes true.
        """
        for item in self.source.iter_entries(row):
            if isinstance(item, int) and self.sample.is_full():
                self.sample.is_done = True
            yield item

    @property
    def problems(self) -> list[str]:
        """One sentence for each list file that could not be read to its end so far."""
        lists = self.source.source if isinstance(self.source, ShuffledSource) else self.source
        return lists.problems

    def is_done(self) -> bool:
        """Return whether reading should stop, because the maximum number of links was taken."""
        return self.sample.is_done
