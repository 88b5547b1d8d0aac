"""Rights of files, combined from the statements of each file and of all its captures.

Limits: the 100 captures of a file that were recorded last, 1,000 statements, and 100 values of each
kind (licences, holders, preferences) with at most 2,000 characters each. Rows are read for ten
files at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from fonds.model.document import IndexDocument
from fonds.model.rights import NO_RIGHTS, RAW_MAX_CHARS, STATEMENTS_MAX, Rights
from fonds.model.rows import CaptureRightsRow, FileRightsRow
from fonds.ports import Records
from fonds.ports.scan import iter_chunks
from fonds.rights.capture_rights import merge_row_rights

CAPTURES_MAX = 100
FILE_BATCH = 100
STATEMENTS_TOGETHER_MAX = 1_000
_NEWEST = ("-updated", "capture_id")


def add_rights(records: Records, documents: Sequence[IndexDocument]) -> list[IndexDocument]:
    """Return copies of index documents with the licences, rights holders and usage preferences of
    their files.
    """
    rights = load_file_rights(records, [document.sha1hex for document in documents])
    return [set_rights(document, rights[document.sha1hex]) for document in documents]


@dataclass(frozen=True, slots=True)
class RightsValues:
    """Distinct licences, rights holders and usage preferences in rights statements, at most 100 of
    each.

    - `licenses`: licences in lower case.
    - `holders`: names of rights holders.
    - `prefers`: usage preferences in lower case.
    """

    licenses: tuple[str, ...]
    holders: tuple[str, ...]
    prefers: tuple[str, ...]


_NO_VALUES = RightsValues((), (), ())


def build_values(rights: Rights) -> RightsValues:
    """Collect the distinct values of rights statements, for index documents and exports."""
    if not rights.statements:
        return _NO_VALUES
    return RightsValues(
        licenses=_limit_values(license_name.lower() for license_name in rights.licenses),
        holders=_limit_values(rights.holders),
        prefers=_limit_values(chain.from_iterable(map(_expand_preference, rights.prefers))),
    )


def _expand_preference(value: str) -> tuple[str, ...]:
    """Return the preferences that a value means in a search: `none` means `noindex` and
    `nofollow`.

    `none` itself is not indexed, because in a search `none` selects documents without a preference.
    Source: the robots meta element as search engines document it.
    """
    return ("noindex", "nofollow") if value.lower() == "none" else (value.lower(),)


def set_rights(document: IndexDocument, rights: Rights) -> IndexDocument:
    """Return an index document with the licences, rights holders and usage preferences in `rights`
    in place of its own.
    """
    values = build_values(rights)
    if (document.licenses, document.holders, document.prefers) == (
        values.licenses,
        values.holders,
        values.prefers,
    ):
        return document
    return replace(
        document, licenses=values.licenses, holders=values.holders, prefers=values.prefers
    )


def load_file_rights(records: Records, sha1hexes: Sequence[str]) -> dict[str, Rights]:
    """Return the rights of each file, by SHA-1: first the statements of the file, then those of its
    captures.

    The robots.txt is that of the last recorded capture with a known robots.txt.
    """
    rights_by_file = dict.fromkeys(sha1hexes, NO_RIGHTS)
    keys = _find_files_with_rights(records, sorted(rights_by_file))
    for start in range(0, len(keys), FILE_BATCH):
        batch = keys[start : start + FILE_BATCH]
        rows = load_capture_rights(records, batch)
        files = {row.sha1hex: row for row in records.get(FileRightsRow, batch)}
        for key in batch:
            capture_rights = [merge_row_rights(row, None) for row in rows[key]]
            rights_by_file[key] = merge_rights(
                [merge_row_rights(None, files.get(key)), *capture_rights]
            )
    return rights_by_file


def _find_files_with_rights(records: Records, keys: Sequence[str]) -> Sequence[str]:
    """Return the SHA-1s of the files for which rights are stored; all of them if there are few."""
    if len(keys) <= FILE_BATCH:
        return keys
    files = {
        sha1hex
        for kind in (FileRightsRow, CaptureRightsRow)
        for chunk in iter_chunks(iter(keys))
        for (sha1hex,) in records.count(kind, ("sha1hex",), {"sha1hex": chunk})
    }
    return sorted(files)


def merge_rights(rights_list: Sequence[Rights]) -> Rights:
    """Merge several rights into one.

    Equal statements occur once; at most 1,000 are kept. The field `robots` is the first in the list
    that is not None.
    """
    robots = next((rights.robots for rights in rights_list if rights.robots), None)
    statements = dict.fromkeys(
        statement for rights in rights_list for statement in rights.statements
    )
    return Rights(robots, tuple(islice(statements, STATEMENTS_TOGETHER_MAX)))


def load_capture_rights(
    records: Records, sha1hexes: Sequence[str]
) -> Mapping[str, Sequence[CaptureRightsRow]]:
    """Return the rows of `capture_rights` for each file, by SHA-1: the last recorded first, at most
    100 per file.
    """
    rows_by_file: dict[str, list[CaptureRightsRow]] = {key: [] for key in sha1hexes}
    for row in _load_newest(records, list(rows_by_file)):
        if len(rows_by_file[row.sha1hex]) < CAPTURES_MAX:
            rows_by_file[row.sha1hex].append(row)
    return rows_by_file


def _load_newest(records: Records, sha1hexes: Sequence[str]) -> list[CaptureRightsRow]:
    """Return the rows of `capture_rights` that were recorded last for these files, with one query
    for all.

    If a file with many captures could displace those of other files, there is one query per file.
    """
    if not sha1hexes:
        return []
    limit, where = CAPTURES_MAX * len(sha1hexes), {"sha1hex": list(sha1hexes)}
    rows = list(records.find(CaptureRightsRow, where, order=_NEWEST, count_max=limit))
    if len(rows) < limit or len(sha1hexes) == 1:
        return rows
    return [row for key in sha1hexes for row in _load_newest(records, [key])]


def _limit_values(values: Iterable[str]) -> tuple[str, ...]:
    """Return the first 100 distinct values, each on one line and cut to 2,000 characters."""
    lines = (" ".join(value.split())[:RAW_MAX_CHARS] for value in values)
    return tuple(dict.fromkeys(value for value in lines if value))[:STATEMENTS_MAX]
