"""Resolve keys that name a loose file, a ZIP member, a WARC record or an input by its path.

Members and records are written as `fonds show` prints them: `/data/pages.zip#a.html`,
`/data/crawl.warc.gz:85`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from fonds.model.record_offset import build_offset_id, parse_record_place
from fonds.model.rows import InputRow, WarcFileRow
from fonds.ports import Records
from fonds.urls.parts import member_url

MARKS_MAX = 5
"""Maximum number of `#` characters in a key that are tried as the start of the name of a ZIP
member.

A file name may contain `#` too.
"""
_FILE_URL = "file://"


def list_path_urls(key: str) -> list[str]:
    """Return the `file:` URLs that a path of a file or ZIP member may mean; [] for a URL.

    There can be several: a `#` may start a member name or belong to the file name, and `..` may be
    resolved.
    """
    if "://" in key or "\0" in key:
        return []
    text = key.strip()
    urls = [path.as_uri() for path in _list_absolute_paths(text)]
    mark_positions = [position for position, character in enumerate(text) if character == "#"]
    for position in mark_positions[:MARKS_MAX]:
        urls += [
            member_url(path.as_uri(), text[position + 1 :])
            for path in _list_absolute_paths(text[:position])
        ]
    return list(dict.fromkeys(urls))


def list_path_inputs(records: Records, key: str) -> list[str]:
    """Return the ids of the inputs (such as WARCs or ZIPs) that were read from a path, a `file:`
    URL or a remote URL.
    """
    text = key.strip()
    if text.startswith(_FILE_URL):
        paths = [unquote(text.removeprefix(_FILE_URL))]
    else:
        paths = [text] if "://" in text else _list_recorded_paths(text)
    return list(dict.fromkeys(row.input_id for row in records.find(InputRow, {"path": paths})))


def list_record_places(records: Records, key: str) -> list[tuple[str, int]]:
    """Return the keys that a WARC record may have in the SQL table `cdx`: one for each recorded
    name of its WARC.

    `key` names the record by WARC path and offset, such as `/data/crawl.warc.gz:85`. Returns an
    empty list for other keys.
    """
    record_place = parse_record_place(key.strip())
    if record_place is None:
        return []
    path, offset = record_place
    rows = records.find(WarcFileRow, {"path": _list_recorded_paths(path)})
    return [(name, offset) for name in dict.fromkeys((path, *(row.name for row in rows)))]


def list_record_entries(records: Records, key: str) -> list[str]:
    """Return the ids that ledger entries of a WARC record may have; the entries need not exist.

    Each input that was read from the path of the WARC has two: one of the record, and one of damage
    found there.

    `key` names the record by WARC path and offset, such as `/data/crawl.warc.gz:85`. Returns an
    empty list for other keys.
    """
    record_place = parse_record_place(key.strip())
    if record_place is None:
        return []
    ids = [
        f"{input_id}-{build_offset_id(record_place[1])}"
        for input_id in list_path_inputs(records, record_place[0])
    ]
    return [*ids, *(f"{input_id}-damage" for input_id in ids)]


def _list_recorded_paths(text: str) -> list[str]:
    """Return the forms in which database rows may store a path given by a user.

    The forms are absolute paths. Bytes that are not UTF-8 are escaped. Empty if the text is not a
    path.
    """
    return [
        os.fsencode(path).decode("utf-8", "backslashreplace") for path in _list_absolute_paths(text)
    ]


def _list_absolute_paths(text: str) -> Sequence[Path]:
    """Return two absolute forms of a path: as written, and with `..` resolved.

    Returns an empty list if the text is not a path.
    """
    try:
        path = Path(os.fsdecode(os.fsencode(text))).absolute()
    except UnicodeEncodeError:
        return []
    if not text or "\0" in text:
        return []
    return [path, Path(os.path.normpath(path))]
