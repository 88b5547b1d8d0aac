"""What is stated about the use of one file, as its page, `fonds show` and the API tell it.

Bound: 100 captures of the file, those noted last, and 1,000 of their statements.
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
from fonds.rights.host_files import IN_FORCE, TDMREP_PATH
from fonds.urls.request_url import parse_web_url

NO_RIGHTS_MESSAGE = "Nothing is stated."
RECORDED = (
    "Fonds records preferences and does not act on them."
    " When it fetches, it obeys Allow, Disallow and Crawl-delay of robots.txt, and Retry-After."
)
SUBJECTS = {
    Subject.LICENSE: "Licence",
    Subject.HOLDER: "Rights holder",
    Subject.PREFERENCE: "Preference",
}
"""What people read for each subject."""
_ELEMENTS = frozenset({StatementSource.LINK, StatementSource.TEXT})
"""Where the name is that of an element."""


@dataclass(frozen=True, slots=True)
class StatingCapture:
    """A capture of the file; `datetime` and `url` are None where its place is not known."""

    capture_id: str
    datetime: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class TdmrepAnswer:
    """How the host of a capture answered within 24 hours when Fonds asked for its tdmrep.json.

    `answer` is the status, or the reason there was none (`robots-denied`). `sha1hex` is the file it was kept
    as, None where it was not kept.
    """

    url: str
    asked_at: datetime
    answer: str
    sha1hex: str | None


@dataclass(frozen=True, slots=True)
class CaptureRights:
    """What some captures of the file state alike, the last noted first.

    `robots` is the robots.txt in force, None where it is not known; `robots_sha1hex` is the file it was kept
    as, None where it was not kept. `tdmrep` is None where the host was not asked.
    """

    captures: Sequence[StatingCapture]
    robots: RobotsInForce | None
    robots_sha1hex: str | None
    tdmrep: TdmrepAnswer | None
    statements: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class FileRights:
    """`statements` are those of the file itself. Captures that state nothing are left out; `is_complete` is
    False where earlier captures were not looked at."""

    statements: Sequence[Statement] = ()
    captures: Sequence[CaptureRights] = ()
    is_complete: bool = True

    @property
    def is_silent(self) -> bool:
        """Whether nothing is stated by the file or by any capture."""
        return not self.statements and not any(one.statements for one in self.captures)


NO_RIGHTS = FileRights()


def load_file_rights(records: Records, sha1hex: str) -> FileRights:
    """Return what is stated about the use of a file."""
    own = merge_row_rights(None, next(iter(records.get(FileRightsRow, [sha1hex])), None))
    rows = load_capture_rights(records, [sha1hex])[sha1hex]
    alike: dict[Rights, list[str]] = {}
    left, is_complete = STATEMENTS_TOGETHER_MAX, len(rows) < CAPTURES_MAX
    for row in rows:
        rights = merge_row_rights(row, None)
        if rights not in alike:
            left -= len(rights.statements)
        if left < 0:
            is_complete = False
            break
        alike.setdefault(rights, []).append(row.capture_id)
    robots = [one.robots.capture_id for one in alike if one.robots and one.robots.capture_id]
    places = _load_places(records, [*(row.capture_id for row in rows), *robots])
    asked = _load_tdmrep_rows(records, places)
    kept = _load_archived_hashes(
        records, [*robots, *(row.capture_id for row in asked.values() if row.capture_id)]
    )
    groups = [
        CaptureRights(
            [StatingCapture(id_, *places.get(id_, (None, None))) for id_ in ids],
            rights.robots,
            kept.get(rights.robots.capture_id or "") if rights.robots else None,
            _build_tdmrep(asked.get(ids[0]), kept),
            rights.statements,
        )
        for rights, ids in alike.items()
    ]
    return FileRights(own.statements, groups, is_complete)


def iter_by_subject(statements: Iterable[Statement]) -> Iterator[tuple[str, Statement]]:
    """Statements with what people read for their subject: licences first, then holders, then preferences."""
    known = list(statements)
    for subject, title in SUBJECTS.items():
        yield from ((title, one) for one in known if one.subject is subject)


def describe_source(statement: Statement) -> str:
    """Where a statement stands: `HTTP header X-Robots-Tag`, `link to a licence <a>`."""
    name = f"<{statement.name}>" if statement.stated_in in _ELEMENTS else statement.name
    return f"{statement.stated_in} {name}" if statement.name else str(statement.stated_in)


def describe_robots(robots: RobotsInForce) -> str:
    """What the host answered when it was asked for its robots.txt, and the rule that matched."""
    answer = (
        "could not be reached" if robots.answer == "unreachable" else f"answered {robots.answer}"
    )
    rule = f"matched by “{robots.rule}”" if robots.rule else "matched by no rule"
    return f"{answer}; {rule}" if robots.answer else rule


def describe_tdmrep(tdmrep: TdmrepAnswer) -> str:
    """How the host answered when it was asked for its tdmrep.json, and whether there is one."""
    answer = f"answered {tdmrep.answer}" if tdmrep.answer.isdigit() else tdmrep.answer
    return answer if tdmrep.sha1hex else f"{answer}; none"


def _load_tdmrep_rows(
    records: Records, places: Mapping[str, tuple[str | None, str | None]]
) -> Mapping[str, TdmrepAnswerRow]:
    """The answers of the hosts of these captures, by capture id, of hosts asked within a day of them."""
    origins = {key: origin for key, (_, url) in places.items() if (origin := _get_origin(url))}
    rows = records.get(TdmrepAnswerRow, sorted(set(origins.values()))) if origins else ()
    answers = {row.origin: row for row in rows}
    found: dict[str, TdmrepAnswerRow] = {}
    for key, origin in origins.items():
        row, moment = answers.get(origin), _parse_moment(places[key][0])
        if row is not None and moment is not None and abs(row.asked_at - moment) <= IN_FORCE:
            found[key] = row
    return found


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
    return TdmrepAnswer(f"{row.origin}{TDMREP_PATH}", row.asked_at, row.answer, sha1hex)


def _load_places(
    records: Records, ids: Sequence[str]
) -> Mapping[str, tuple[str | None, str | None]]:
    """The 14-digit time and the URL of captures, as they were entered or as they lie in a WARC."""
    if not ids:
        return {}
    found: dict[str, tuple[str | None, str | None]] = {
        row.entry_id: (row.seen, row.url) for row in records.find(EntryRow, {"entry_id": list(ids)})
    }
    lying = records.find(CdxRow, {"capture_id": list(ids)})
    return found | {row.capture_id: (row.datetime, row.url) for row in lying}


def _load_archived_hashes(records: Records, ids: Sequence[str]) -> Mapping[str, str]:
    """The SHA-1 of the bytes of captures that lie in a WARC and are not under embargo."""
    if not ids:
        return {}
    rows = list(records.find(CdxRow, {"capture_id": list(dict.fromkeys(ids))}))
    hidden = find_active_embargoes(records, [row.sha1hex for row in rows])
    return {row.capture_id: row.sha1hex for row in rows if row.sha1hex not in hidden}
