"""What a person names by its path: a loose file, a member of a ZIP, a record in a WARC, or all of an input.

Members and records are named as `fonds show` prints them: `/data/pages.zip#a.html`, `/data/crawl.warc.gz:85`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from fonds.model.record_offset import offset_id, parse_record_place
from fonds.model.rows import InputRow, WarcFileRow
from fonds.ports import Records
from fonds.urls.parts import member_url

MARKS_MAX = 5
"""A `#` may stand in the name of a file too: as many places are tried where a member's name may begin."""
_FILE_URL = "file://"


def urls_of_path(key: str) -> list[str]:
    """Return the URLs of the file or member that may be named by this path; none for a URL."""
    if "://" in key or "\0" in key:
        return []
    text = key.strip()
    urls = [path.as_uri() for path in _absolute(text)]
    begins = [at for at, character in enumerate(text) if character == "#"]
    for at in begins[:MARKS_MAX]:
        urls += [member_url(path.as_uri(), text[at + 1 :]) for path in _absolute(text[:at])]
    return list(dict.fromkeys(urls))


def inputs_of_path(records: Records, key: str) -> list[str]:
    """Return the ids of what was read from this path, or from a `file:` or remote URL."""
    text = key.strip()
    if text.startswith(_FILE_URL):
        paths = [unquote(text.removeprefix(_FILE_URL))]
    else:
        paths = [text] if "://" in text else _as_in_records(text)
    return list(dict.fromkeys(row.input_id for row in records.find(InputRow, {"path": paths})))


def places_of_record(records: Records, key: str) -> list[tuple[str, int]]:
    """Return the keys in `cdx` of the record that is named by WARC and offset; none for other keys."""
    found = parse_record_place(key.strip())
    if found is None:
        return []
    path, offset = found
    rows = records.find(WarcFileRow, {"path": _as_in_records(path)})
    return [(name, offset) for name in dict.fromkeys((path, *(row.name for row in rows)))]


def entries_of_record(records: Records, key: str) -> list[str]:
    """Return the ids under which the record that is named by WARC and offset may have entered."""
    found = parse_record_place(key.strip())
    if found is None:
        return []
    ids = [f"{one}-{offset_id(found[1])}" for one in inputs_of_path(records, found[0])]
    return [*ids, *(f"{one}-damage" for one in ids)]


def _as_in_records(text: str) -> list[str]:
    """Return the paths that may be meant as rows have them: bytes that are no UTF-8 are escaped."""
    return [os.fsencode(path).decode("utf-8", "backslashreplace") for path in _absolute(text)]


def _absolute(text: str) -> Sequence[Path]:
    """Return a path as it is written and with `..` taken out, both absolute; none for no path."""
    try:
        path = Path(os.fsdecode(os.fsencode(text))).absolute()
    except UnicodeEncodeError:
        return []
    if not text or "\0" in text:
        return []
    return [path, Path(os.path.normpath(path))]
