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

from fonds.crawl.links import asked_address, link_to
from fonds.extract.url import canonical_domain
from fonds.model.disposition import Reason
from fonds.model.entry import LINK, Entry, UnreadTally, input_id_of
from fonds.model.errors import LimitError, PermanentError, cause_of
from fonds.model.link import Link, TlsCheck, of_link
from fonds.model.rows import EntryRow, InputRow
from fonds.model.shortage import shortage
from fonds.ports import Records
from fonds.sources.input_rows import failed_input, unread_input
from fonds.sources.link_rules import LinkRules
from fonds.sources.listed.choice import Choice
from fonds.sources.listed.remote_files import RemoteFile, Remotes, is_remote
from fonds.sources.listed.rows import DOWNLOADS, READERS, Listed, Row
from fonds.sources.walk import FoundPath, walk

CHUNK = 200
RECENT_MAX = 2_000
"""Addresses given out lately, which may not be on the books yet."""


@dataclass(frozen=True, slots=True)
class LinkLists:
    """A Source of what a person names: paths, folders, URLs of http(s) and `s3://` with a `*` at the end.

    `form` is what the files are (`rows.py`), `downloads_url` where downloads lie.
    `records` None: nothing is known, as where there is no home yet. `again` makes files inputs they were not
    before, and takes their links whatever was entered out of others.
    `problems` takes a sentence for each file that could not be read, or not to its end.
    """

    names: Sequence[str]
    form: str
    home: Path
    pipeline: str
    collection: str
    rules: LinkRules
    remotes: Remotes
    clock: Callable[[], datetime]
    records: Records | None = None
    follow: bool = False
    again: bool = False
    tls: TlsCheck = TlsCheck.FULL
    choice: Choice = field(default_factory=Choice)
    problems: list[str] = field(default_factory=list)
    downloads_url: str = ""

    def inputs(self) -> Iterator[InputRow]:
        """One input a file; what cannot be read is one too."""
        for name in self.names:
            if is_remote(name):
                yield from (self._remote(found) for found in self.remotes.find(name))
            else:
                found_paths = walk([Path(name)], self.home, follow=self.follow)
                yield from (self._local(found) for found in found_paths if self._is_meant(found))

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """The links of one file from `row.position` on; what is refused is counted by its reason."""
        if row.error is not None:
            reason = Reason.MISSING_SOURCE if row.kind == "missing" else Reason.UNREADABLE_SOURCE
            yield self._broken(row, reason, row.error)
            return
        try:
            path = (
                self.remotes.fetched(row.path, self._kept(row))
                if is_remote(row.path)
                else Path(row.path)
            )
            yield from self._read(row, path)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield self._broken(row, Reason.DAMAGED_RECORD, f"unpacking fails: {cause_of(error)}")
        except LimitError as error:
            yield self._broken(row, error.reason, error.detail)
        except PermanentError as error:
            yield self._broken(row, error.reason, error.detail)
        except OSError as error:
            if (short := shortage(error)) is not None:
                raise short from error
            yield self._broken(row, Reason.UNREADABLE_SOURCE, cause_of(error))
        else:
            if is_remote(row.path) and not self.choice.is_full():
                self._kept(row).unlink(missing_ok=True)

    def _read(self, row: InputRow, path: Path) -> Iterator[Entry | Mapping[str, int] | int]:
        read = READERS[self.form]
        recent: OrderedDict[str, None] = OrderedDict()
        with closing(read(path, row.path, self.downloads_url)) as rows:
            ahead = (one for one in rows if one[0] >= row.position)
            while some := list(islice(ahead, CHUNK)):
                tally: Counter[str] = Counter()
                for number, found in self._sifted(row, some, recent):
                    if isinstance(found, Reason):
                        tally[str(found)] += 1
                        continue
                    if self.choice.is_full():
                        # The line is read again in the next run.
                        yield tally
                        yield number
                        return
                    self.choice.taken += 1
                    yield found
                yield tally
                yield some[-1][0] + 1

    def _sifted(
        self, row: InputRow, rows: Sequence[Row], recent: OrderedDict[str, None]
    ) -> Iterator[tuple[int, Entry | Reason]]:
        """What comes of some lines, with their numbers: an entry, or why there is none."""
        judged = [(number, told, self._refusal(told)) for number, told in rows]
        met = self._met(row, [_address(told) for _, told, why in judged if why is None])
        for number, told, why in judged:
            url, own = _address(told), f"{row.input_id}-{number:012x}"
            if why is None:
                why = _known(row, own, met.get(url, row.input_id if url in recent else own))
            if why is not None or told is None:
                yield number, why or Reason.BAD_INDEX_LINE
                continue
            recent[url] = None
            if len(recent) > RECENT_MAX:
                recent.popitem(last=False)
            yield number, of_link(self._link(row, told, own))

    def _link(self, row: InputRow, told: Listed, own: str) -> Link:
        link = link_to(
            told.url,
            row.input_id,
            told.entry,
            collection=self.collection,
            found_at=self.clock(),
            tls=self.tls,
            allows_any_site=not self.rules.non_news,
        )
        if self.form != DOWNLOADS:
            return replace(link, id=own)
        return replace(
            link,
            id=own,
            domain=canonical_domain(told.page) if told.page else "",
            final_url=told.final_url,
            fetch_timestamp=told.fetch_timestamp,
        )

    def _refusal(self, told: Listed | None) -> Reason | None:
        if told is None:
            return Reason.BAD_INDEX_LINE
        refusal = None if told.page is None else self.rules.refusal(told.page)
        if refusal is not None:
            return refusal[0]
        return None if self.choice.is_sampled(told.url) else Reason.NOT_SAMPLED

    def _met(self, row: InputRow, urls: Sequence[str]) -> dict[str, str]:
        """Those of these addresses that are on the books of the pipeline, with the first entry of each. With
        `again` only those of this input, and those that wait to be fetched."""
        if self.records is None or not urls:
            return {}
        where = {"url": list(dict.fromkeys(urls)), "pipeline": self.pipeline, "kind": LINK}
        if not self.again:
            return self._first_entries(self.records, where)
        pending = self._first_entries(self.records, {**where, "outcome": "pending"})
        return pending | self._first_entries(self.records, {**where, "input_id": row.input_id})

    @staticmethod
    def _first_entries(records: Records, where: Mapping[str, object]) -> dict[str, str]:
        """The smallest id of an entry of each address."""
        met: dict[str, str] = {}
        for one in records.find(EntryRow, where):
            met[one.url] = min(one.entry_id, met.get(one.url, one.entry_id))
        return met

    def _broken(self, row: InputRow, reason: Reason, detail: str) -> Mapping[str, int]:
        self.problems.append(f"{row.path}: {detail}")
        return UnreadTally(reason, detail)

    def _kept(self, row: InputRow) -> Path:
        """Where a file from elsewhere lies while it is read."""
        return self.home / "inbox" / f"list-{row.input_id}"

    def _is_meant(self, found: FoundPath) -> bool:
        """Links that lead out of what was named are left alone; without --follow nothing is behind them."""
        return not found.leads_out

    def _local(self, found: FoundPath) -> InputRow:
        path = os.fsencode(found.path).decode("utf-8", "backslashreplace")
        kind = "missing" if found.missing else "links"
        version = f"{found.size_bytes}:{found.modified_ns}"
        return self._input(path, kind, version, found.error, found.modified_ns / 1e9)

    def _remote(self, found: RemoteFile) -> InputRow:
        kind = "missing" if found.missing else "links"
        version = f"{found.size_bytes}:{found.version}"
        return self._input(found.url, kind, version, found.error, 0.0)

    def _input(
        self, path: str, kind: str, version: str, error: str | None, seconds: float
    ) -> InputRow:
        updated = datetime.fromtimestamp(seconds, UTC) if seconds else self.clock()
        if error is not None:
            return failed_input(path, kind, updated, error)
        share = "" if self.choice.percent >= 100.0 else f":{self.choice.percent:g}%"
        anew = f":{self.clock().isoformat()}" if self.again else ""
        fingerprint = f"{version}:{self.form}{share}{anew}"
        found = input_id_of(path.encode(), fingerprint)
        return unread_input(found, path, kind, fingerprint, updated)


def _known(row: InputRow, own: str, first: str) -> Reason | None:
    """Why an address is no new link when its first entry is `first`; None for one that is."""
    if first == own:
        return None
    return Reason.REPEATED if first.startswith(row.input_id) else Reason.KNOWN_LINK


def _address(told: Listed | None) -> str:
    return asked_address(told.url) if told is not None else ""
