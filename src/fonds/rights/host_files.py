"""Find the robots.txt and tdmrep.json in force for each response of a web server, in any order of
arrival.

Both are called host files. A robots.txt is in force for captures within the 24 hours after its own
capture (RFC 9309, 2.4). Only the last robots.txt before a capture counts. If the WARC file names
its crawler, the group of rules for this crawler applies, otherwise the group for all crawlers. For
pages that Fonds fetched, the robots.txt that allowed the request applies; the step `fetch` records
this robots.txt.

A tdmrep.json is in force in the same way. If none was captured before a response, the first in the
24 hours after the response counts, because crawlers request the tdmrep.json once they know the
host.

A host file or response is written before its counterpart is searched, so the step that writes later
finds both. After writing rights, a step searches again, until the rights match the host files.
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

VALIDITY = timedelta(hours=24)
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
    """Rows to write for a batch of captures. Host files are the robots.txt and tdmrep.json of
    hosts.

    - `captures`: rows of responses that are not host files, with origin and time.
    - `files`: rows of host files, with origin and time.
    - `texts`: texts of host files, by SHA-1.
    """

    captures: Sequence[HostCaptureRow] = ()
    files: Sequence[HostFileRow] = ()
    texts: Sequence[HostTextRow] = ()


def build_host_rows(items: Iterable[IdentifiedCapture]) -> HostRows:
    """Build the rows for a batch of captures: rows of host files (robots.txt, tdmrep.json) and of
    all other responses.

    Captures that are not HTTP responses or have no SHA-1 are skipped.
    """
    captures, files, texts = [], [], []
    for item in items:
        url, sha1hex = _parse_web_url(item), item.sha1hex
        if url is None or sha1hex is None:
            continue
        key = (url.origin, item.capture.captured_at, item.capture.id, sha1hex)
        name = PATHS.get(url.target)
        if name is not None:
            if item.file is None or TYPES.get(item.file.mime) == name:
                files.append(HostFileRow(key[0], name, *key[1:]))
            if item.host_text is not None:
                texts.append(HostTextRow(sha1hex, item.host_text))
        else:
            is_fetched = item.capture.place.kind is PlaceKind.SPOOL
            row = HostCaptureRow(*key, url.target, item.capture.crawler, is_fetched)
            captures.append(row)
    return HostRows(captures, files, texts)


def build_host_file_row(
    url: str, captured_at: datetime, capture_id: str, sha1hex: str
) -> HostFileRow | None:
    """Build the row of a host file (robots.txt or tdmrep.json) captured at `url`; None if a host
    file cannot have this URL.
    """
    address = parse_web_url(url)
    name = PATHS.get(address.target) if address is not None else None
    if address is None or name is None:
        return None
    return HostFileRow(address.origin, name, captured_at, capture_id, sha1hex)


def write_host_rows(records: Records, rows: HostRows, now: datetime) -> set[str]:
    """Write the rows of responses and host files (robots.txt, tdmrep.json), then update the rights
    of captures.

    Captures are updated if they are among the rows, or if one of the host files is in force for
    them. Return the SHA-1s of files captured earlier whose rights changed.
    """
    known_hashes = {
        row.sha1hex for row in records.get(HostTextRow, [text.sha1hex for text in rows.texts])
    }
    new_hashes = sorted({text.sha1hex for text in rows.texts} - known_hashes)
    records.put([*rows.texts, *rows.files, *rows.captures])
    update_rights(records, rows.captures, now)
    files = {_sort_key(file): file for file in rows.files}
    # A revisit may arrive before the text it refers to.
    files |= (
        {_sort_key(file): file for file in records.find(HostFileRow, {"sha1hex": new_hashes})}
        if new_hashes
        else {}
    )
    return _update_rights_around(records, files.values(), now)


def withdraw_files(records: Records, files: Sequence[HostFileRow], now: datetime) -> set[str]:
    """Remove the statements of host files (robots.txt or tdmrep.json) from the rights of captures.

    The caller deletes the host files afterwards. Other host files with the same bytes are withdrawn
    too. Return the SHA-1s of files whose rights changed.
    """
    return _update_rights_around(records, files, now, frozenset(file.sha1hex for file in files))


def _update_rights_around(
    records: Records,
    files: Iterable[HostFileRow],
    now: datetime,
    excluded_sha1hexes: frozenset[str] = frozenset(),
) -> set[str]:
    """Update the rights of captures for which a given host file (robots.txt or tdmrep.json) may be
    in force.

    Host files with a SHA-1 in `excluded_sha1hexes` are ignored. Return the SHA-1s of files whose
    rights changed.
    """
    changed_sha1hexes: set[str] = set()
    for file in files:
        start_at = file.captured_at - (VALIDITY if file.name == TDM else timedelta(0))
        time_range = TimeRange(start_at, file.captured_at + VALIDITY)
        captures = records.find(HostCaptureRow, {"origin": file.origin, "captured_at": time_range})
        while batch := list(islice(captures, BATCH_SIZE)):
            changed_sha1hexes |= update_rights(records, batch, now, excluded_sha1hexes)
    return changed_sha1hexes


def remove_host_rows(records: Records, rows: HostRows, now: datetime) -> set[str]:
    """Delete the rows of responses and host files (robots.txt, tdmrep.json) written for a batch of
    captures.

    Return the SHA-1s of files whose rights changed, because a deleted host file was in force for
    one of their captures.
    """
    changed_sha1hexes = withdraw_files(records, rows.files, now)
    records.delete(
        HostCaptureRow,
        [(capture.origin, capture.captured_at, capture.capture_id) for capture in rows.captures],
    )
    records.delete(HostFileRow, [_sort_key(file) for file in rows.files])
    records.delete(HostTextRow, [text.sha1hex for text in rows.texts])
    return changed_sha1hexes


def remove_capture_rights(records: Records, rows: Sequence[CdxRow]) -> None:
    """Delete the rights of captures whose index rows (table `cdx`) are being replaced."""
    ids = {row.capture_id for row in rows}
    if not ids:
        return
    records.delete(CaptureRightsRow, sorted(ids))
    host_captures = records.find(HostCaptureRow, {"sha1hex": sorted({row.sha1hex for row in rows})})
    replaced_captures = [row for row in host_captures if row.capture_id in ids]
    records.delete(
        HostCaptureRow, [(row.origin, row.captured_at, row.capture_id) for row in replaced_captures]
    )


def update_rights(
    records: Records,
    captures: Sequence[HostCaptureRow],
    now: datetime,
    excluded_sha1hexes: frozenset[str] = frozenset(),
) -> set[str]:
    """Update the stored rights of captures, so that they agree with the host files in force.

    Host files (robots.txt and tdmrep.json) with a SHA-1 in `excluded_sha1hexes` are ignored. Return
    the SHA-1s of files whose rights changed. With `excluded_sha1hexes`, the captures must be at
    most two days apart.
    """
    changed_sha1hexes: set[str] = set()
    previous: list[HostFilesInForce] = []
    for _ in range(ROUNDS_MAX):
        in_force = _find_in_force(records, captures, excluded_sha1hexes)
        if in_force == previous or not captures:
            break
        previous = in_force
        changed_sha1hexes |= _write(records, captures, in_force, now)
    return changed_sha1hexes


def is_settled(records: Records, captures: Sequence[HostCaptureRow], now: datetime) -> bool:
    """Return whether the stored rights of captures agree with the robots.txt and tdmrep.json in
    force.
    """
    changed_rows, deleted_ids = _update_rights(
        records, captures, _find_in_force(records, captures), now
    )
    return not changed_rows and not deleted_ids


def _write(
    records: Records,
    captures: Sequence[HostCaptureRow],
    in_force: Sequence[HostFilesInForce],
    now: datetime,
) -> set[str]:
    updated_rows, deleted_ids = _update_rights(records, captures, in_force, now)
    if updated_rows:
        records.put(updated_rows)
    if deleted_ids:
        records.delete(CaptureRightsRow, deleted_ids)
    ids = {*deleted_ids, *(row.capture_id for row in updated_rows)}
    return {capture.sha1hex for capture in captures if capture.capture_id in ids}


def _update_rights(
    records: Records,
    captures: Sequence[HostCaptureRow],
    in_force: Sequence[HostFilesInForce],
    now: datetime,
) -> tuple[list[CaptureRightsRow], list[str]]:
    """Compare the stored rights of captures with the robots.txt and tdmrep.json in force for them.

    Return the rows of `capture_rights` to write, and the ids of captures whose rows must be
    deleted. Rows that do not change are left out.
    """
    sha1hexes = {
        file.sha1hex
        for capture_files in in_force
        for file in capture_files.values()
        if file is not None
    }
    texts = {row.sha1hex: row.text for row in records.get(HostTextRow, sorted(sha1hexes))}
    rows = records.get(CaptureRightsRow, [capture.capture_id for capture in captures])
    rows_by_capture = {row.capture_id: row for row in rows}
    changed_rows, deleted_ids = [], []
    for capture, files in zip(captures, in_force, strict=True):
        row = rows_by_capture.get(capture.capture_id)
        stored_rights = parse_row_rights(row) if row is not None else NO_RIGHTS
        rights = _apply_host_files(stored_rights, capture, files, texts)
        if rights == stored_rights:
            continue
        new_row = build_capture_rights_row(capture.capture_id, capture.sha1hex, rights, now)
        if new_row is None:
            deleted_ids.append(capture.capture_id)
        else:
            changed_rows.append(new_row)
    return changed_rows, deleted_ids


def _find_in_force(
    records: Records,
    captures: Sequence[HostCaptureRow],
    excluded_sha1hexes: frozenset[str] = frozenset(),
) -> list[HostFilesInForce]:
    """Return for each capture the robots.txt and tdmrep.json in force, by file name; None if there
    is none.
    """
    if not captures:
        return []
    first_at = min(capture.captured_at for capture in captures)
    last_at = max(capture.captured_at for capture in captures)
    if last_at - first_at > TOGETHER_MAX:
        return _find_each_in_force(records, captures)
    origins = sorted({capture.origin for capture in captures})
    where = {"origin": origins, "captured_at": TimeRange(first_at - VALIDITY, last_at + VALIDITY)}
    rows_by_name: dict[tuple[str, str], list[HostFileRow]] = {}
    for row in records.find(HostFileRow, where, order=("captured_at", "capture_id")):
        if row.sha1hex not in excluded_sha1hexes:
            rows_by_name.setdefault((row.origin, row.name), []).append(row)
    files_in_force: list[HostFilesInForce] = []
    for capture in captures:
        robots, tdm = (rows_by_name.get((capture.origin, name), ()) for name in NAMES)
        captured_at = capture.captured_at
        files_in_force.append(
            {
                ROBOTS: _find_newest(robots, captured_at),
                TDM: _find_newest(tdm, captured_at) or _find_next(tdm, captured_at),
            }
        )
    return files_in_force


def _find_newest(files_by_time: Sequence[HostFileRow], moment: datetime) -> HostFileRow | None:
    """Return the last robots.txt or tdmrep.json of a host captured at or before `moment`.

    Returns None if that file was captured more than 24 hours before `moment`, or if there is none.
    """
    position = bisect_right(files_by_time, moment, key=lambda row: row.captured_at)
    candidate = files_by_time[position - 1] if position else None
    return (
        candidate if candidate is not None and moment - candidate.captured_at <= VALIDITY else None
    )


def _find_next(files_by_time: Sequence[HostFileRow], moment: datetime) -> HostFileRow | None:
    """Return the first tdmrep.json of a host captured at or after `moment`.

    Returns None if that file was captured more than 24 hours after `moment`, or if there is none.
    """
    position = bisect_left(files_by_time, moment, key=lambda row: row.captured_at)
    candidate = files_by_time[position] if position < len(files_by_time) else None
    return (
        candidate if candidate is not None and candidate.captured_at - moment <= VALIDITY else None
    )


def _find_each_in_force(
    records: Records, captures: Sequence[HostCaptureRow]
) -> list[HostFilesInForce]:
    """Return for each capture the robots.txt and tdmrep.json in force, by file name; None if there
    is none.

    Each capture has its own database queries. This is used for captures more than two days apart,
    between which a host may have many such files.
    """
    earlier_filters = [
        {
            "origin": capture.origin,
            "name": name,
            "captured_at": TimeRange(capture.captured_at - VALIDITY, capture.captured_at),
        }
        for capture in captures
        for name in NAMES
    ]
    later_filters = [
        {
            "origin": capture.origin,
            "name": TDM,
            "captured_at": TimeRange(capture.captured_at, capture.captured_at + VALIDITY),
        }
        for capture in captures
    ]
    newest = iter(
        records.first_of_each(HostFileRow, earlier_filters, ("-captured_at", "-capture_id"))
    )
    nexts = records.first_of_each(HostFileRow, later_filters, ("captured_at", "capture_id"))
    return [{ROBOTS: next(newest), TDM: next(newest) or later} for later in nexts]


def _apply_host_files(
    rights: Rights, capture: HostCaptureRow, files: HostFilesInForce, texts: Mapping[str, str]
) -> Rights:
    """Return the rights of a capture with the statements of the robots.txt and tdmrep.json in
    force.

    - `rights`: rights of the capture until now. Their statements from other robots.txt and
      tdmrep.json are removed.
    - `files`: host files in force for the capture, by name.
    - `texts`: texts of host files, by SHA-1.
    """
    own_statements = [
        statement
        for statement in rights.statements
        if statement.stated_in not in _STATED_IN_BY_FILE.values()
    ]
    robots: RobotsInForce | None = None
    host_statements: list[Statement] = []
    file = files[ROBOTS]
    if capture.is_fetched:
        robots = rights.robots
        host_statements += [
            statement
            for statement in rights.statements
            if statement.stated_in is StatementSource.ROBOTS_TXT
        ]
    elif file is not None and file.sha1hex in texts:
        rules = _parse_rules(texts[file.sha1hex], capture.crawler)
        address = f"{capture.origin}/robots.txt"
        robots = RobotsInForce(address, "200", file.capture_id, rules.find_rule(capture.target))
        host_statements += rules.find_statements(capture.target)
    file = files[TDM]
    if file is not None and file.sha1hex in texts:
        host_statements += read_tdmrep_statements(texts[file.sha1hex], capture.target)
    return replace(rights, robots=robots, statements=(*host_statements, *own_statements))


@lru_cache(maxsize=16)
def _parse_rules(text: str, crawler: str) -> RobotsRules:
    return parse_robots_rules(text, crawler=crawler)


def _sort_key(row: HostFileRow) -> tuple[str, str, datetime, str]:
    return row.origin, row.name, row.captured_at, row.capture_id


def _parse_web_url(identified_capture: IdentifiedCapture) -> RequestUrl | None:
    """Parse the URL of a response; None for captures that are not HTTP responses."""
    if identified_capture.capture.record_type not in ("response", "revisit"):
        return None
    return parse_web_url(identified_capture.capture.url)
