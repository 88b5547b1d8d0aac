"""Captures out of a CDX or CDXJ index, whose WARCs lie beside it or under a base."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, cast
from urllib.parse import urlsplit

from fonds.archive.cdx import CdxLine, IndexReader, RejectedLine
from fonds.ingest.sources.walk import is_led_out
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    Place,
    PlaceKind,
    parse_datetime14,
)
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, PermanentError
from fonds.model.rows import InputRow

LINE_MAX_BYTES = 64 * 1024
WARCS_REMEMBERED = 1_000
PARTS_SEARCHED_MAX = 10_000
RATIO_MAX = 200
GZIP_MAGIC = b"\x1f\x8b"


def read_index(
    path: Path, row: InputRow, collection: str, warc_base: str, follow: bool = False
) -> Iterator[Capture | Mapping[str, int] | int]:
    """One capture a line, also for a line that cannot be understood; positions are line numbers."""
    reader = IndexReader()
    # Lines of one WARC stand together, or nearly so: the disk is asked once for each.
    find = lru_cache(WARCS_REMEMBERED)(
        partial(find_below, folder=path.parent, warc_base=warc_base, follow=follow)
    )

    def entry(line: bytes, number: int) -> Capture | None:
        parsed = reader.parse(line.decode("utf-8", "replace"))
        if parsed is None:
            return None
        try:
            return _build_entry(row, collection, path, number, parsed, find)
        except PermanentError as error:
            detail = f"line {number + 1}: {error.detail}"
            return build_damaged_capture(row, collection, path, number, error.reason, detail)

    yield from read_lines(path, row, collection, entry)


def has_local_part(index: Path, name: bytes) -> bool:
    """Whether a part lies beside the index; by its bare name, with or without its packing's ending."""
    return any(is_file(index.with_name(one)) for one in list_part_names(name))


def list_part_names(name: bytes) -> list[str]:
    """Return the names under which a part of a ZipNum index may lie beside it."""
    bare = PurePosixPath(name.decode("utf-8", "replace")).name
    return [bare, f"{bare}.gz"] if bare else []


def read_zipnum(
    path: Path,
    row: InputRow,
    collection: str,
    has_part: Callable[[Path, bytes], bool] = has_local_part,
) -> Iterator[Capture | Mapping[str, int] | int]:
    """What a ZipNum index leads to: its parts, which are inputs of their own; a missing one is a damage.

    The first 10,000 parts are looked for.
    """
    names = (line.split(b"\t")[1] for line in iter_lines(path) if line.count(b"\t") >= 3)
    parts = list(dict.fromkeys(islice(names, PARTS_SEARCHED_MAX)))
    missing = [part.decode("utf-8", "replace") for part in parts if not has_part(path, part)]
    if not missing:
        yield {str(Reason.NOT_A_CAPTURE): 1}
        return
    detail = (
        f"it is the second level of an index, and {len(missing)} of the {len(parts)} parts it leads to are "
        f"not beside it, such as {missing[0][:200]!r}: put them there and take in the folder"
    )
    yield build_damaged_capture(row, collection, path, 0, Reason.MISSING_SOURCE, detail)


def read_lines(
    path: Path, row: InputRow, collection: str, entry: Callable[[bytes, int], Capture | None]
) -> Iterator[Capture | int]:
    """What `entry` makes of each line and its number (from 0), from `row.position` on.

    Where unpacking fails one capture says so, and what follows is lost.
    """
    number = 0
    try:
        with closing(iter_lines(path)) as lines:
            for line in lines:
                found = entry(line, number)
                if number >= row.position and found is not None:
                    yield number
                    yield found
                number += 1
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        detail = f"unpacking fails behind line {number}: {error}"
        yield build_damaged_capture(row, collection, path, number, Reason.DAMAGED_RECORD, detail)
    except LimitError as error:
        yield build_damaged_capture(row, collection, path, number, error.reason, error.detail)


def iter_lines(path: Path) -> Generator[bytes, None, None]:
    """Lines of bounded length of a file, unpacked if it is gzip; the rest of an over-long one comes as
    lines of its own, which are rejected.

    Raises LimitError (`bomb`) when it unpacks to more than 200 times its size, and what gzip raises.
    """
    size_max_bytes, size_bytes = max(LINE_MAX_BYTES, RATIO_MAX * path.stat().st_size), 0
    with open_unpacked(path) as stream:
        while line := stream.readline(LINE_MAX_BYTES):
            size_bytes += len(line)
            if size_bytes > size_max_bytes:
                detail = f"the file unpacks to more than {RATIO_MAX} times its size"
                raise LimitError(Reason.BOMB, detail)
            yield line.rstrip(b"\r\n")


def open_unpacked(path: Path) -> IO[bytes]:
    """A file opened for reading, gzip undone. How much it unpacks to is for the reader to bound."""
    with path.open("rb") as stream:
        packed = stream.read(2) == GZIP_MAGIC
    return cast(IO[bytes], gzip.open(path, "rb") if packed else path.open("rb"))


def find_below(filename: str, folder: Path, warc_base: str, follow: bool = False) -> str | None:
    """Where a file that is named in another is, or should be: below the base only, whatever it says.

    None when its name holds no name. Raises PermanentError (NOT_FOLLOWED) for a link that leads out of
    the base, unless `follow`.
    """
    parts = _split_path(filename)
    if not parts:
        return None
    if urlsplit(warc_base).scheme in ("http", "https", "s3"):
        return "/".join([warc_base.rstrip("/"), *parts])
    base = Path(warc_base).expanduser().absolute() if warc_base else folder
    beside = [base.joinpath(*parts), base / parts[-1], base / "archive" / parts[-1]]
    beside += [base.parent / "archive" / parts[-1]] if not warc_base else []
    # One that is not there yet may be put there later: the reader says so, and a retry finds it.
    found = next((path for path in beside if is_file(path)), beside[0])
    root = base if found.is_relative_to(base) else base.parent
    if not follow and _is_led_out(found, root):
        raise PermanentError(Reason.NOT_FOLLOWED, f"{found} is a link that leads out of {root}")
    return str(found)


def list_paths_below(base: str, name: str) -> list[str]:
    """Return where a WARC may lie below a configured base; nothing without a base, or for a refused link."""
    if not base:
        return []
    try:
        found = find_below(name, Path(), base)
    except PermanentError:
        return []
    return [found] if found else []


def normalize_warc_name(filename: str) -> str | None:
    """Return the name of a WARC as an index or task gives it; None for a bare name, which may be ours."""
    parts = _split_path(filename)
    if filename.startswith("/"):
        # A path of some machine is no name; its last two parts are.
        parts = parts[-2:]
    return "/".join(parts) if len(parts) > 1 and "://" not in filename else None


def _split_path(filename: str) -> list[str]:
    return [part for part in PurePosixPath(filename).parts if part not in ("/", "..", ".")]


def _is_led_out(path: Path, root: Path) -> bool:
    try:
        return is_led_out(path, root)
    except OSError:
        # What cannot be looked at cannot be read either: its reader says why.
        return False


def is_file(path: Path) -> bool:
    """As `Path.is_file`, and False for a name no file can have."""
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
        detail = f"line {number + 1}: {line.filename!r} is not the name of a WARC"
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
    """A line of a file in which nothing can be read."""
    return Capture(
        id=f"{row.input_id}-{number:012x}",
        input_id=row.input_id,
        place=Place(PlaceKind.FILE, str(path)),
        url=path.as_uri(),
        captured_at=row.updated,
        record_type="damage",
        collection=collection,
        damage=detail,
        damage_reason=reason,
    )
