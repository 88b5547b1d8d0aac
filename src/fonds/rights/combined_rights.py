"""What is stated about the use of files: by all their captures and by the files themselves, as one value.

Bounds: 100 captures of a file, those noted last, and 1,000 statements; 100 values of each subject, of 2,000
characters at most. Rows are read for ten files at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from fonds.model.document import IndexDocument
from fonds.model.rights import RAW_MAX_CHARS, STATEMENTS_MAX, Rights
from fonds.model.rows import CaptureRightsRow, FileRightsRow
from fonds.ports import Records
from fonds.rights.capture_rights import merge_row_rights

CAPTURES_MAX = 100
FILE_BATCH = 10
STATEMENTS_TOGETHER_MAX = 1_000
_NEWEST = ("-updated", "capture_id")


def add_rights(records: Records, documents: Sequence[IndexDocument]) -> list[IndexDocument]:
    """Documents with what is stated of their files."""
    rights = load_file_rights(records, [one.sha1hex for one in documents])
    return [set_rights(one, rights[one.sha1hex]) for one in documents]


@dataclass(frozen=True, slots=True)
class RightsValues:
    """The different values stated, at most 100 of each; licences and preferences in lower case."""

    licenses: tuple[str, ...]
    holders: tuple[str, ...]
    prefers: tuple[str, ...]


def build_values(rights: Rights) -> RightsValues:
    """The values stated, as documents and exports have them."""
    return RightsValues(
        licenses=_limit_values(one.lower() for one in rights.licenses),
        holders=_limit_values(rights.holders),
        prefers=_limit_values(chain.from_iterable(map(_expand_preference, rights.prefers))),
    )


def _expand_preference(value: str) -> tuple[str, ...]:
    """A preference as it is searched: `none`, which asks for documents without one there, is spelled out.

    Source: the robots meta element as search engines document it.
    """
    return ("noindex", "nofollow") if value.lower() == "none" else (value.lower(),)


def set_rights(document: IndexDocument, rights: Rights) -> IndexDocument:
    """A document with what is stated about its use."""
    values = build_values(rights)
    return replace(
        document, licenses=values.licenses, holders=values.holders, prefers=values.prefers
    )


def load_file_rights(records: Records, sha1hexes: Sequence[str]) -> dict[str, Rights]:
    """The rights of files by SHA-1: what the file states, then what any of its captures states.

    `robots` is that of the capture noted last for which it is known. Each file asked for has a value.
    """
    keys = sorted(set(sha1hexes))
    found: dict[str, Rights] = {}
    for start in range(0, len(keys), FILE_BATCH):
        some = keys[start : start + FILE_BATCH]
        rows = load_capture_rights(records, some)
        files = {row.sha1hex: row for row in records.get(FileRightsRow, some)}
        for key in some:
            of_captures = [merge_row_rights(row, None) for row in rows[key]]
            found[key] = merge_rights([merge_row_rights(None, files.get(key)), *of_captures])
    return found


def merge_rights(rights_list: Sequence[Rights]) -> Rights:
    """What any of them states, each statement once, 1,000 at most; robots.txt is that of the first for which
    it is known."""
    robots = next((one.robots for one in rights_list if one.robots), None)
    statements = dict.fromkeys(statement for one in rights_list for statement in one.statements)
    return Rights(robots, tuple(islice(statements, STATEMENTS_TOGETHER_MAX)))


def load_capture_rights(
    records: Records, sha1hexes: Sequence[str]
) -> Mapping[str, Sequence[CaptureRightsRow]]:
    """The rows of the captures of these files that state something, the last noted first, 100 of each."""
    found: dict[str, list[CaptureRightsRow]] = {key: [] for key in sha1hexes}
    for row in _load_newest(records, list(found)):
        if len(found[row.sha1hex]) < CAPTURES_MAX:
            found[row.sha1hex].append(row)
    return found


def _load_newest(records: Records, sha1hexes: Sequence[str]) -> list[CaptureRightsRow]:
    """Read in one query, but where one file has so many captures that others could be left out."""
    if not sha1hexes:
        return []
    limit, where = CAPTURES_MAX * len(sha1hexes), {"sha1hex": list(sha1hexes)}
    rows = list(records.find(CaptureRightsRow, where, order=_NEWEST, count_max=limit))
    if len(rows) < limit or len(sha1hexes) == 1:
        return rows
    return [row for key in sha1hexes for row in _load_newest(records, [key])]


def _limit_values(values: Iterable[str]) -> tuple[str, ...]:
    """Values as a document has them: each once, on one line, cut."""
    short = (" ".join(value.split())[:RAW_MAX_CHARS] for value in values)
    return tuple(dict.fromkeys(value for value in short if value))[:STATEMENTS_MAX]
