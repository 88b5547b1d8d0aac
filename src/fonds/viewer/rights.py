"""Statements about the permitted use of one file, for the page of the file, `fonds show` and the
API.

Limits: the 100 latest captures of the file, and 1,000 statements of these captures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.capture import parse_datetime14
from fonds.model.rights import Rights, RobotsInForce, Statement, StatementSource, Subject
from fonds.model.rows import CdxRow, EntryRow, FileRightsRow, TdmrepAnswerRow
from fonds.ports import Records
from fonds.rights.capture_rights import merge_row_rights
from fonds.rights.combined_rights import (
    CAPTURES_MAX,
    STATEMENTS_TOGETHER_MAX,
    load_capture_rights,
)
from fonds.rights.host_files import TDMREP_PATH, VALIDITY
from fonds.urls.request_url import parse_web_url

NO_RIGHTS_MESSAGE = "No rights statements found."
RECORDED = (
    "Fonds records preferences and does not act on them."
    " When it fetches, it obeys Allow, Disallow and Crawl-delay of robots.txt, and Retry-After."
)
SUBJECTS = {
    Subject.LICENSE: "Licence",
    Subject.HOLDER: "Rights holder",
    Subject.PREFERENCE: "Preference",
}
"""Display titles of the subjects of rights statements."""
_ELEMENTS = frozenset({StatementSource.LINK, StatementSource.TEXT})
"""Sources of rights statements whose `name` is the name of an HTML element."""


@dataclass(frozen=True, slots=True)
class StatingCapture:
    """Capture of a file that states rights.

    - `capture_id`: id of the capture.
    - `datetime`: time of the capture, 14 digits; None if unknown.
    - `url`: URL of the capture; None if unknown.
    """

    capture_id: str
    datetime: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class TdmrepAnswer:
    """Response of a host to a request for tdmrep.json, made within 24 hours of a capture.

    - `url`: requested URL.
    - `requested_at`: time of the request.
    - `answer`: HTTP status, or the reason why there was no response (such as `robots-denied`).
    - `sha1hex`: SHA-1 of the stored response; None if it was not stored.
    """

    url: str
    requested_at: datetime
    answer: str
    sha1hex: str | None


@dataclass(frozen=True, slots=True)
class CaptureRights:
    """Rights statements that several captures of a file have in common.

    - `captures`: the captures, latest first.
    - `robots`: robots.txt in effect for the captures; None if unknown.
    - `robots_sha1hex`: SHA-1 of the stored robots.txt; None if it was not stored.
    - `tdmrep`: response to a request for tdmrep.json; None if the host was not asked.
    - `statements`: the statements.
    """

    captures: Sequence[StatingCapture]
    robots: RobotsInForce | None
    robots_sha1hex: str | None
    tdmrep: TdmrepAnswer | None
    statements: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class FileRights:
    """Statements about the permitted use of a file.

    - `statements`: statements in the file itself.
    - `captures`: statements of the captures of the file.
    - `is_complete`: False if earlier captures or statements are omitted.
    """

    statements: Sequence[Statement] = ()
    captures: Sequence[CaptureRights] = ()
    is_complete: bool = True

    @property
    def is_silent(self) -> bool:
        """Whether neither the file nor any of its captures states rights."""
        return not self.statements and not any(
            capture_rights.statements for capture_rights in self.captures
        )


NO_RIGHTS = FileRights()


def load_file_rights(records: Records, sha1hex: str) -> FileRights:
    """Load the statements about the permitted use of a file, from the file and its captures."""
    file_rights = merge_row_rights(None, next(iter(records.get(FileRightsRow, [sha1hex])), None))
    rows = load_capture_rights(records, [sha1hex])[sha1hex]
    captures_by_rights: dict[Rights, list[str]] = {}
    remaining, is_complete = STATEMENTS_TOGETHER_MAX, len(rows) < CAPTURES_MAX
    for row in rows:
        rights = merge_row_rights(row, None)
        if rights not in captures_by_rights:
            remaining -= len(rights.statements)
        if remaining < 0:
            is_complete = False
            break
        captures_by_rights.setdefault(rights, []).append(row.capture_id)
    robots = [
        capture_rights.robots.capture_id
        for capture_rights in captures_by_rights
        if capture_rights.robots and capture_rights.robots.capture_id
    ]
    places = _load_places(records, [*(row.capture_id for row in rows), *robots])
    tdmrep_rows = _load_tdmrep_rows(records, places)
    archived_hashes = _load_archived_hashes(
        records, [*robots, *(row.capture_id for row in tdmrep_rows.values() if row.capture_id)]
    )
    groups = [
        CaptureRights(
            [StatingCapture(id_, *places.get(id_, (None, None))) for id_ in ids],
            rights.robots,
            archived_hashes.get(rights.robots.capture_id or "") if rights.robots else None,
            _build_tdmrep(tdmrep_rows.get(ids[0]), archived_hashes),
            rights.statements,
        )
        for rights, ids in captures_by_rights.items()
    ]
    return FileRights(file_rights.statements, groups, is_complete)


def iter_by_subject(statements: Iterable[Statement]) -> Iterator[tuple[str, Statement]]:
    """Yield each statement about rights with the display title of its group.

    The groups are licences, then rights holders, then usage preferences.
    """
    all_statements = list(statements)
    for subject, title in SUBJECTS.items():
        yield from (
            (title, statement) for statement in all_statements if statement.subject is subject
        )


def describe_source(statement: Statement) -> str:
    """Describe the source of a rights statement, such as `HTTP header X-Robots-Tag` or `link to a
    licence <a>`.
    """
    name = f"<{statement.name}>" if statement.stated_in in _ELEMENTS else statement.name
    return f"{statement.stated_in} {name}" if statement.name else str(statement.stated_in)


def describe_robots(robots: RobotsInForce) -> str:
    """Describe the response of a host to a request for robots.txt, and the rule that matched the
    capture's URL.
    """
    answer = (
        "could not be reached" if robots.answer == "unreachable" else f"answered {robots.answer}"
    )
    rule = f"matched by “{robots.rule}”" if robots.rule else "matched by no rule"
    return f"{answer}; {rule}" if robots.answer else rule


def describe_tdmrep(tdmrep: TdmrepAnswer) -> str:
    """Describe the response of a host to a request for tdmrep.json."""
    answer = f"answered {tdmrep.answer}" if tdmrep.answer.isdigit() else tdmrep.answer
    return answer if tdmrep.sha1hex else f"{answer}; none"


def _load_tdmrep_rows(
    records: Records, places: Mapping[str, tuple[str | None, str | None]]
) -> Mapping[str, TdmrepAnswerRow]:
    """Return how the host of each capture responded to a request for tdmrep.json, by capture id.

    Only the last such request to each host is known. A capture is omitted if that request was made
    more than a day before or after it.
    """
    origins = {key: origin for key, (_, url) in places.items() if (origin := _get_origin(url))}
    rows = records.get(TdmrepAnswerRow, sorted(set(origins.values()))) if origins else ()
    answers = {row.origin: row for row in rows}
    rows_by_capture: dict[str, TdmrepAnswerRow] = {}
    for key, origin in origins.items():
        row, moment = answers.get(origin), _parse_moment(places[key][0])
        if row is not None and moment is not None and abs(row.requested_at - moment) <= VALIDITY:
            rows_by_capture[key] = row
    return rows_by_capture


def _get_origin(url: str | None) -> str:
    address = parse_web_url(url)
    return address.origin if address is not None else ""


def _parse_moment(digits: str | None) -> datetime | None:
    try:
        return parse_datetime14(digits) if digits else None
    except ValueError:
        return None


def _build_tdmrep(
    row: TdmrepAnswerRow | None, archived_hashes: Mapping[str, str]
) -> TdmrepAnswer | None:
    if row is None:
        return None
    sha1hex = archived_hashes.get(row.capture_id or "")
    return TdmrepAnswer(f"{row.origin}{TDMREP_PATH}", row.requested_at, row.answer, sha1hex)


def _load_places(
    records: Records, ids: Sequence[str]
) -> Mapping[str, tuple[str | None, str | None]]:
    """Return the time (14 digits) and URL of each capture, by capture id.

    Time and URL come from the archived record, or else from the ledger entry. Unknown values are
    None.
    """
    if not ids:
        return {}
    entry_captures: dict[str, tuple[str | None, str | None]] = {
        row.entry_id: (row.seen, row.url) for row in records.find(EntryRow, {"entry_id": list(ids)})
    }
    archived_captures = records.find(CdxRow, {"capture_id": list(ids)})
    return entry_captures | {row.capture_id: (row.datetime, row.url) for row in archived_captures}


def _load_archived_hashes(records: Records, ids: Sequence[str]) -> Mapping[str, str]:
    """Return the SHA-1s of the files of captures, by capture id.

    Captures that are not in a WARC file yet, or whose file is under embargo, are omitted.
    """
    if not ids:
        return {}
    rows = list(records.find(CdxRow, {"capture_id": list(dict.fromkeys(ids))}))
    embargoes = find_active_embargoes(records, [row.sha1hex for row in rows])
    return {row.capture_id: row.sha1hex for row in rows if row.sha1hex not in embargoes}
