"""The robots.txt and tdmrep.json in force for responses, whichever came in first.

A robots.txt is in force for what was captured within 24 hours after it (RFC 9309, 2.4), the newest one before
it alone. The group of the crawler's name counts where its WARC tells it, else that for everybody. For what
Fonds fetched it is the one that allowed the request, which the step `fetch` notes.

A tdmrep.json is in force in the same way. Without one before a response, the first in the 24 hours after it
counts: crawlers ask for it once they know the host.

Of a file and a response each is written before the other is looked for, so that whichever step is later finds
both. A step looks once more behind what it wrote, and writes again until it says what is there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice

from fonds.model.capture import PlaceKind
from fonds.model.file import ROBOTS_TXT, TDMREP, IdentifiedCapture
from fonds.model.rights import (
    NO_RIGHTS,
    Rights,
    RobotsInForce,
    Statement,
    StatementSource,
)
from fonds.model.rows import (
    CaptureRightsRow,
    CdxRow,
    HostCaptureRow,
    HostFileRow,
    HostTextRow,
)
from fonds.model.rows.row import TimeRange
from fonds.ports import Records
from fonds.rights.capture_rights import build_capture_rights_row, parse_row_rights
from fonds.rights.robots_txt import RobotsRules, parse_robots_rules
from fonds.rights.tdmrep import read_tdmrep_statements
from fonds.urls.request_url import RequestUrl, parse_web_url

IN_FORCE = timedelta(hours=24)
ROBOTS, TDM = NAMES = "robots.txt", "tdmrep.json"
TDMREP_PATH = "/.well-known/tdmrep.json"
PATHS = {"/robots.txt": ROBOTS, TDMREP_PATH: TDM}
TYPES = {ROBOTS_TXT: ROBOTS, TDMREP: TDM}
BATCH_SIZE = 500
TOGETHER_MAX = timedelta(days=2)
ROUNDS_MAX = 5
_STATED_IN_BY_FILE = {ROBOTS: StatementSource.ROBOTS_TXT, TDM: StatementSource.TDMREP}
HostFilesInForce = Mapping[str, HostFileRow | None]


@dataclass(frozen=True, slots=True)
class HostRows:
    """The rows a batch of captures adds."""

    captures: Sequence[HostCaptureRow] = ()
    files: Sequence[HostFileRow] = ()
    texts: Sequence[HostTextRow] = ()


def build_host_rows(items: Iterable[IdentifiedCapture]) -> HostRows:
    """Return the rows of responses and of files of hosts."""
    captures, files, texts = [], [], []
    for one in items:
        url, sha1hex = _parse_web_url(one), one.sha1hex
        if url is None or sha1hex is None:
            continue
        place = (url.origin, one.capture.captured_at, one.capture.id, sha1hex)
        name = PATHS.get(url.target)
        if name is not None:
            if one.file is None or TYPES.get(one.file.mime) == name:
                files.append(HostFileRow(place[0], name, *place[1:]))
            if one.host_text is not None:
                texts.append(HostTextRow(sha1hex, one.host_text))
        else:
            is_fetched = one.capture.place.kind is PlaceKind.SPOOL
            row = HostCaptureRow(*place, url.target, one.capture.crawler, is_fetched)
            captures.append(row)
    return HostRows(captures, files, texts)


def build_host_file_row(
    url: str, captured_at: datetime, capture_id: str, sha1hex: str
) -> HostFileRow | None:
    """Return the row of a file of a host that lies at this address; None for any other address."""
    place = parse_web_url(url)
    name = PATHS.get(place.target) if place is not None else None
    if place is None or name is None:
        return None
    return HostFileRow(place.origin, name, captured_at, capture_id, sha1hex)


def write_host_rows(records: Records, rows: HostRows, now: datetime) -> set[str]:
    """Write the rows and what follows from them. Return the SHA-1s of files captured before whose captures
    have other rights now."""
    known = {row.sha1hex for row in records.get(HostTextRow, [one.sha1hex for one in rows.texts])}
    new = sorted({one.sha1hex for one in rows.texts} - known)
    records.put([*rows.texts, *rows.files, *rows.captures])
    update_rights(records, rows.captures, now)
    files = {_sort_key(one): one for one in rows.files}
    # A revisit may have come before the text it repeats.
    files |= (
        {_sort_key(one): one for one in records.find(HostFileRow, {"sha1hex": new})} if new else {}
    )
    return _update_rights_around(records, files.values(), now)


def withdraw_files(records: Records, files: Sequence[HostFileRow], now: datetime) -> set[str]:
    """Let captures state nothing of these files, which are removed next. Return the SHA-1s of those whose
    rights changed. What has the same bytes counts no more either."""
    return _update_rights_around(records, files, now, frozenset(one.sha1hex for one in files))


def _update_rights_around(
    records: Records,
    files: Iterable[HostFileRow],
    now: datetime,
    excluded: frozenset[str] = frozenset(),
) -> set[str]:
    """Settle the captures for which any of these files may be in force."""
    changed: set[str] = set()
    for file in files:
        first = file.captured_at - (IN_FORCE if file.name == TDM else timedelta(0))
        stretch = TimeRange(first, file.captured_at + IN_FORCE)
        found = records.find(HostCaptureRow, {"origin": file.origin, "captured_at": stretch})
        while some := list(islice(found, BATCH_SIZE)):
            changed |= update_rights(records, some, now, excluded)
    return changed


def remove_host_rows(records: Records, rows: HostRows, now: datetime) -> set[str]:
    """Remove the rows of a batch. Return the SHA-1s of files whose captures have other rights now."""
    changed = withdraw_files(records, rows.files, now)
    records.delete(
        HostCaptureRow, [(one.origin, one.captured_at, one.capture_id) for one in rows.captures]
    )
    records.delete(HostFileRow, [_sort_key(one) for one in rows.files])
    records.delete(HostTextRow, [one.sha1hex for one in rows.texts])
    return changed


def remove_capture_rights(records: Records, rows: Sequence[CdxRow]) -> None:
    """Remove what is kept of the rights of captures whose place others take."""
    ids = {row.capture_id for row in rows}
    if not ids:
        return
    records.delete(CaptureRightsRow, sorted(ids))
    found = records.find(HostCaptureRow, {"sha1hex": sorted({row.sha1hex for row in rows})})
    gone = [row for row in found if row.capture_id in ids]
    records.delete(HostCaptureRow, [(row.origin, row.captured_at, row.capture_id) for row in gone])


def update_rights(
    records: Records,
    captures: Sequence[HostCaptureRow],
    now: datetime,
    excluded: frozenset[str] = frozenset(),
) -> set[str]:
    """Write into the rights of these captures what is in force for them, `excluded` files of these SHA-1s.
    Return the SHA-1s of those whose rights changed. With `excluded`, captures lie two days apart at most."""
    changed: set[str] = set()
    before: list[HostFilesInForce] = []
    for _ in range(ROUNDS_MAX):
        found = _find_in_force(records, captures, excluded)
        if found == before or not captures:
            break
        before = found
        changed |= _write(records, captures, found, now)
    return changed


def is_settled(records: Records, captures: Sequence[HostCaptureRow], now: datetime) -> bool:
    """Return whether the rights of these captures say what is in force for them."""
    written, gone = _update_rights(records, captures, _find_in_force(records, captures), now)
    return not written and not gone


def _write(
    records: Records,
    captures: Sequence[HostCaptureRow],
    in_force: Sequence[HostFilesInForce],
    now: datetime,
) -> set[str]:
    written, gone = _update_rights(records, captures, in_force, now)
    if written:
        records.put(written)
    if gone:
        records.delete(CaptureRightsRow, gone)
    ids = {*gone, *(row.capture_id for row in written)}
    return {one.sha1hex for one in captures if one.capture_id in ids}


def _update_rights(
    records: Records,
    captures: Sequence[HostCaptureRow],
    in_force: Sequence[HostFilesInForce],
    now: datetime,
) -> tuple[list[CaptureRightsRow], list[str]]:
    """The rows that say something else now, and the captures whose rows say nothing any more."""
    sha1hexes = {file.sha1hex for one in in_force for file in one.values() if file is not None}
    texts = {row.sha1hex: row.text for row in records.get(HostTextRow, sorted(sha1hexes))}
    rows = records.get(CaptureRightsRow, [one.capture_id for one in captures])
    there = {row.capture_id: row for row in rows}
    written, gone = [], []
    for capture, files in zip(captures, in_force, strict=True):
        row = there.get(capture.capture_id)
        known = parse_row_rights(row) if row is not None else NO_RIGHTS
        rights = _apply_host_files(known, capture, files, texts)
        if rights == known:
            continue
        made = build_capture_rights_row(capture.capture_id, capture.sha1hex, rights, now)
        if made is None:
            gone.append(capture.capture_id)
        else:
            written.append(made)
    return written, gone


def _find_in_force(
    records: Records,
    captures: Sequence[HostCaptureRow],
    excluded: frozenset[str] = frozenset(),
) -> list[HostFilesInForce]:
    """The file of each name that is in force for each capture."""
    if not captures:
        return []
    first = min(one.captured_at for one in captures)
    last = max(one.captured_at for one in captures)
    if last - first > TOGETHER_MAX:
        return _find_each_in_force(records, captures)
    origins = sorted({one.origin for one in captures})
    where = {"origin": origins, "captured_at": TimeRange(first - IN_FORCE, last + IN_FORCE)}
    rising: dict[tuple[str, str], list[HostFileRow]] = {}
    for row in records.find(HostFileRow, where, order=("captured_at", "capture_id")):
        if row.sha1hex not in excluded:
            rising.setdefault((row.origin, row.name), []).append(row)
    found: list[HostFilesInForce] = []
    for one in captures:
        robots, tdm = (rising.get((one.origin, name), ()) for name in NAMES)
        at = one.captured_at
        found.append(
            {ROBOTS: _find_newest(robots, at), TDM: _find_newest(tdm, at) or _find_next(tdm, at)}
        )
    return found


def _find_newest(rising: Sequence[HostFileRow], moment: datetime) -> HostFileRow | None:
    """The last of these rows at or before a moment, if it is in force still."""
    place = bisect_right(rising, moment, key=lambda row: row.captured_at)
    found = rising[place - 1] if place else None
    return found if found is not None and moment - found.captured_at <= IN_FORCE else None


def _find_next(rising: Sequence[HostFileRow], moment: datetime) -> HostFileRow | None:
    """The first of these rows after a moment, if it came within a day."""
    place = bisect_left(rising, moment, key=lambda row: row.captured_at)
    found = rising[place] if place < len(rising) else None
    return found if found is not None and found.captured_at - moment <= IN_FORCE else None


def _find_each_in_force(
    records: Records, captures: Sequence[HostCaptureRow]
) -> list[HostFilesInForce]:
    """The same where captures lie so far apart that there may be many files between them."""
    before = [
        {
            "origin": one.origin,
            "name": name,
            "captured_at": TimeRange(one.captured_at - IN_FORCE, one.captured_at),
        }
        for one in captures
        for name in NAMES
    ]
    after = [
        {
            "origin": one.origin,
            "name": TDM,
            "captured_at": TimeRange(one.captured_at, one.captured_at + IN_FORCE),
        }
        for one in captures
    ]
    newest = iter(records.first_of_each(HostFileRow, before, ("-captured_at", "-capture_id")))
    nexts = records.first_of_each(HostFileRow, after, ("captured_at", "capture_id"))
    return [{ROBOTS: next(newest), TDM: next(newest) or later} for later in nexts]


def _apply_host_files(
    rights: Rights, capture: HostCaptureRow, files: HostFilesInForce, texts: Mapping[str, str]
) -> Rights:
    """Rights with what these files state in the place of what earlier ones did."""
    own = [one for one in rights.statements if one.stated_in not in _STATED_IN_BY_FILE.values()]
    robots: RobotsInForce | None = None
    stated: list[Statement] = []
    file = files[ROBOTS]
    if capture.is_fetched:
        robots = rights.robots
        stated += [one for one in rights.statements if one.stated_in is StatementSource.ROBOTS_TXT]
    elif file is not None and file.sha1hex in texts:
        rules = _parse_rules(texts[file.sha1hex], capture.crawler)
        address = f"{capture.origin}/robots.txt"
        robots = RobotsInForce(address, "200", file.capture_id, rules.find_rule(capture.target))
        stated += rules.find_statements(capture.target)
    file = files[TDM]
    if file is not None and file.sha1hex in texts:
        stated += read_tdmrep_statements(texts[file.sha1hex], capture.target)
    return replace(rights, robots=robots, statements=(*stated, *own))


@lru_cache(maxsize=16)
def _parse_rules(text: str, crawler: str) -> RobotsRules:
    return parse_robots_rules(text, crawler=crawler)


def _sort_key(row: HostFileRow) -> tuple[str, str, datetime, str]:
    return row.origin, row.name, row.captured_at, row.capture_id


def _parse_web_url(identified: IdentifiedCapture) -> RequestUrl | None:
    """The address of a response; None for what was not answered over HTTP."""
    if identified.capture.record_type not in ("response", "revisit"):
        return None
    return parse_web_url(identified.capture.url)
