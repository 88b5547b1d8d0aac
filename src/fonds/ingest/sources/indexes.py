"""Read captures from a CDX or CDXJ index.

The WARCs that an index names are searched in the folder of the index, or below a configured folder
or URL (`warc_base`).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from fonds.archive.cdx import CdxLine, IndexReader, RejectedLine
from fonds.ingest.sources.damage_runs import Item, count_damage_runs
from fonds.ingest.sources.text_files import iter_lines
from fonds.ingest.sources.walk import is_outside
from fonds.model.capture import (
    DAMAGE,
    REVISIT_MIME,
    Capture,
    Place,
    PlaceKind,
    parse_datetime14,
)
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, PermanentError
from fonds.model.rows import InputRow

WARC_CACHE_SIZE = 1_000
PARTS_SEARCHED_MAX = 10_000


def read_index(
    path: Path, row: InputRow, collection: str, warc_base: str, follows_links: bool = False
) -> Iterator[Item]:
    """Yield a line number (from 0) and a capture for each line of a CDX index, from line
    `row.position` on.

    An unreadable line yields a capture that reports the damage. `warc_base` is the folder or URL
    below which WARCs are searched; '' means the folder of the index.
    """
    reader = IndexReader()
    # Lines of one WARC are mostly adjacent; the cache looks each up on disk once.
    find = lru_cache(WARC_CACHE_SIZE)(
        partial(
            find_in_folder, folder=path.parent, warc_base=warc_base, follows_links=follows_links
        )
    )

    def entry(line: bytes, number: int) -> Capture | None:
        index_line = reader.parse(line.decode("utf-8", "replace"))
        if index_line is None:
            return None
        try:
            return _build_entry(row, collection, path, number, index_line, find)
        except PermanentError as error:
            detail = f"line {number + 1}: {error.detail}"
            return build_damaged_capture(row, collection, path, number, error.reason, detail)

    yield from read_lines(path, row, collection, entry)


def has_local_part(index: Path, name: bytes) -> bool:
    """Return whether a part of a ZipNum index is in the folder of the index, with or without `.gz`.

    A ZipNum index names the compressed parts (CDX files) of a large index. Only the file name in
    `name` is used, not its folders.
    """
    return any(is_file(index.with_name(part_name)) for part_name in list_part_names(name))


def list_part_names(name: bytes) -> list[str]:
    """Return the file names that a part (CDX file) of a ZipNum index may have: its name, and its
    name with `.gz`.

    Folders in `name` are removed. The list is empty if no name remains.
    """
    bare = PurePosixPath(name.decode("utf-8", "replace")).name
    return [bare, f"{bare}.gz"] if bare else []


def read_zipnum(
    path: Path,
    row: InputRow,
    collection: str,
    has_part: Callable[[Path, bytes], bool] = has_local_part,
) -> Iterator[Item]:
    """Check that the parts of a ZipNum index exist. If parts are missing, yield one capture that
    reports this.

    A ZipNum index names the compressed parts (CDX files) of a large index. The parts are read as
    separate inputs. Only the first 10,000 parts are checked. If all exist, yields a count of one
    input that is not a capture.
    """
    names = (line.split(b"\t")[1] for line in iter_lines(path) if line.count(b"\t") >= 3)
    parts = list(dict.fromkeys(islice(names, PARTS_SEARCHED_MAX)))
    missing_names = [part.decode("utf-8", "replace") for part in parts if not has_part(path, part)]
    if not missing_names:
        yield {str(Reason.NOT_A_CAPTURE): 1}
        return
    detail = (
        f"the second level of an index needs its parts next to it, but {len(missing_names)} of "
        f"{len(parts)} parts are missing, such as {missing_names[0][:200]!r}. Add them and "
        "ingest the folder"
    )
    yield build_damaged_capture(row, collection, path, 0, Reason.MISSING_SOURCE, detail)


def read_lines(
    path: Path, row: InputRow, collection: str, build_entry: Callable[[bytes, int], Capture | None]
) -> Iterator[Item]:
    """Yield a line number (from 0) and then a capture for each line of a file, from line
    `row.position` on.

    Unreadable lines that follow an unreadable line directly are counted only.

    `build_entry` builds the capture from a line and its number, or returns None for a line without
    a capture. Such lines are counted but not yielded. If decompression fails, a last capture
    reports the failure, and the rest of the file is not read.
    """
    items = _iter_lines(path, row, collection, build_entry)
    return count_damage_runs(items, {Reason.BAD_INDEX_LINE}, lambda number: f"line {number + 1:,}")


def _iter_lines(
    path: Path, row: InputRow, collection: str, build_entry: Callable[[bytes, int], Capture | None]
) -> Iterator[Item]:
    """Yield the same as `read_lines`, with a capture for each unreadable line."""
    number = 0
    try:
        with closing(iter_lines(path)) as lines:
            for line in lines:
                capture = build_entry(line, number)
                if number >= row.position and capture is not None:
                    yield number
                    yield capture
                number += 1
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        detail = f"decompression failed after line {number}: {error}"
        yield build_damaged_capture(row, collection, path, number, Reason.DAMAGED_RECORD, detail)
    except LimitError as error:
        yield build_damaged_capture(row, collection, path, number, error.reason, error.detail)


def find_in_folder(
    filename: str, folder: Path, warc_base: str, follows_links: bool = False
) -> str | None:
    """Return the path or URL of a file that an index or list names.

    - `filename`: the name or relative path in the index.
    - `folder`: the folder of the index, used if `warc_base` is ''.
    - `warc_base`: the configured folder or URL to search below.
    - `follows_links`: whether the file may be outside the folder, through a symbolic link.

    If the file does not exist, return the first path where it is expected. Return None if
    `filename` contains no name. Raises PermanentError (NOT_FOLLOWED) for a symbolic link out of the
    folder, unless `follows_links` is set.
    """
    parts = _split_path(filename)
    if not parts:
        return None
    if urlsplit(warc_base).scheme in ("http", "https", "s3"):
        return "/".join([warc_base.rstrip("/"), *parts])
    base = Path(warc_base).expanduser().absolute() if warc_base else folder
    candidates = [base.joinpath(*parts), base / parts[-1], base / "archive" / parts[-1]]
    candidates += [base.parent / "archive" / parts[-1]] if not warc_base else []
    # A missing file may be added later: its reader reports it, and a retry finds it.
    chosen_path = next((path for path in candidates if is_file(path)), candidates[0])
    root = base if chosen_path.is_relative_to(base) else base.parent
    if not follows_links and _is_outside(chosen_path, root):
        raise PermanentError(
            Reason.NOT_FOLLOWED, (f"{chosen_path} is a symbolic link to a path outside {root}")
        )
    return str(chosen_path)


def list_paths_in_folder(base: str, name: str) -> list[str]:
    """Return the paths below the folder or URL `base` where a WARC called `name` may be.

    The list is empty if `base` is '' or if a symbolic link leads out of the folder.
    """
    if not base:
        return []
    try:
        path = find_in_folder(name, Path(), base)
    except PermanentError:
        return []
    return [path] if path else []


def normalize_warc_name(filename: str) -> str | None:
    """Return the normalized relative path by which an index or task names a WARC.

    An absolute path is cut to its last two segments. Returns None for a URL. Also returns None for
    a name without folders, because it may be the name of a WARC that Fonds wrote.
    """
    parts = _split_path(filename)
    if filename.startswith("/"):
        # An absolute path is no name; its last two parts are.
        parts = parts[-2:]
    return "/".join(parts) if len(parts) > 1 and "://" not in filename else None


def _split_path(filename: str) -> list[str]:
    return [part for part in PurePosixPath(filename).parts if part not in ("/", "..", ".")]


def _is_outside(path: Path, root: Path) -> bool:
    try:
        return is_outside(path, root)
    except OSError:
        # An inaccessible file cannot be read either; its reader reports why.
        return False


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file. Unlike `Path.is_file`, return False for an invalid
    file name.
    """
    try:
        return path.is_file()
    except OSError:
        return False


def _build_entry(
    row: InputRow,
    collection: str,
    path: Path,
    number: int,
    line: CdxLine | RejectedLine,
    find: Callable[[str], str | None],
) -> Capture:
    if isinstance(line, RejectedLine):
        detail = f"line {number + 1}: {line.detail}"
        return build_damaged_capture(row, collection, path, number, Reason.BAD_INDEX_LINE, detail)
    warc = find(line.filename)
    if warc is None:
        detail = f"line {number + 1}: {line.filename!r} is not a WARC name"
        return build_damaged_capture(row, collection, path, number, Reason.BAD_INDEX_LINE, detail)
    return Capture(
        id=f"{row.input_id}-{number:012x}",
        input_id=row.input_id,
        place=Place(
            PlaceKind.WARC,
            warc,
            line.offset,
            line.size_bytes,
            name=normalize_warc_name(line.filename),
        ),
        url=line.url,
        captured_at=parse_datetime14(line.datetime14),
        record_type="revisit" if line.mime == REVISIT_MIME else "response",
        collection=collection,
        mime=line.mime,
        status=line.status,
        digest=line.digest,
    )


def build_damaged_capture(
    row: InputRow, collection: str, path: Path, number: int, reason: Reason, detail: str
) -> Capture:
    """Build a capture without a body that reports damage at line `number` of an index or list."""
    return Capture(
        id=f"{row.input_id}-{number:012x}",
        input_id=row.input_id,
        place=Place(PlaceKind.FILE, str(path)),
        url=path.as_uri(),
        captured_at=row.updated,
        record_type=DAMAGE,
        collection=collection,
        damage=detail,
        damage_reason=reason,
    )
