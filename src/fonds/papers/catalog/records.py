"""Parse works from JSON records and from files of them, in any supported format.

Files contain JSON lines or one JSON value with many records, and may be gzipped.
Limits: a line has up to 16 MiB, a value that fills a file up to 256 MiB, and a file unpacks to at
most 200 times its size.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from fonds.papers.catalog.bibjson import is_bibjson, parse_bibjson
from fonds.papers.catalog.crossref import is_crossref, parse_crossref
from fonds.papers.catalog.fatcat import is_fatcat, parse_fatcat
from fonds.papers.catalog.openalex import is_openalex, parse_openalex
from fonds.papers.catalog.work import Work

EXCERPT_CHARS = 120


class RefusalReason(StrEnum):
    """Reason why a record was not loaded into the catalogue, as a code.

    - `explanation`: the reason in words, for people.
    """

    explanation: str

    def __new__(cls, value: str, explanation: str = "") -> RefusalReason:
        """Create a reason from its code and its explanation for people."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.explanation = explanation
        return member

    NOT_JSON = "not-json", "the line is not JSON"
    NOT_A_RECORD = "not-a-record", "the JSON has an unknown format"
    TOO_LONG = "too-long", "the line or file exceeds the size limit"
    UNPACKING = "unpacking", "the file cannot be decompressed completely"
    NO_IDENTIFIER = "no-identifier", "the record has no valid identifier"
    NO_TITLE = "no-title", "the record has neither a title nor a DOI with author and year"
    NOT_A_WORK = "not-a-work", "the record describes a journal, an issue, a part or a review"


class RefusedRecord(msgspec.Struct, frozen=True):
    """Record that was not loaded into the catalogue.

    - `reason`: code of the reason.
    - `detail`: description of the problem in this record; "" if there is none.
    """

    reason: RefusalReason
    detail: str = ""


_FORMS: tuple[
    tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], Work | None]], ...
] = (
    (is_crossref, parse_crossref),
    (is_fatcat, parse_fatcat),
    (is_openalex, parse_openalex),
    (is_bibjson, parse_bibjson),
)


def decode_json(data: bytes) -> Any:
    """Decode JSON. Raises ValueError if it is invalid or nested too deeply."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def iter_records(value: Any) -> Iterator[Any]:
    """Yield the records in one JSON value.

    They are the elements of a list, or of `items`, `results` or BibJSON's `records`, also inside
    the `message` of a response. In any other case the value itself is the only record.
    """
    if isinstance(value, Mapping) and isinstance(value.get("message"), Mapping):
        value = value["message"]
    if isinstance(value, Mapping):
        for name in ("items", "results", "records"):
            if isinstance(value.get(name), list):
                value = value[name]
                break
    yield from value if isinstance(value, list) else (value,)


def parse_work(record: Any) -> Work | RefusedRecord:
    """Parse the work in one record of any supported format.

    If the record is refused, return the reason instead.
    """
    if not isinstance(record, Mapping):
        return RefusedRecord(RefusalReason.NOT_A_RECORD, f"{record!r:.{EXCERPT_CHARS}}")
    parse = next((parse for is_form, parse in _FORMS if is_form(record)), None)
    if parse is None:
        names = ", ".join(sorted(map(str, record))[:8])
        return RefusedRecord(RefusalReason.NOT_A_RECORD, f"its fields are {names:.{EXCERPT_CHARS}}")
    try:
        work = parse(record)
    except ValueError as error:
        return RefusedRecord(RefusalReason.NO_IDENTIFIER, str(error))
    if work is None:
        return RefusedRecord(RefusalReason.NOT_A_WORK)
    if not work.title and not (work.doi and work.authors and work.year):
        return RefusedRecord(RefusalReason.NO_TITLE, work.id)
    return work


# Reading files


LINE_MAX_BYTES, FILE_MAX_BYTES = 16 * 1024**2, 256 * 1024**2
RATIO_MAX, UNPACKED_MIN_BYTES = 200, 16 * 1024**2
GZIP_MAGIC = b"\x1f\x8b"
FILE_EXTENSIONS = (
    ".json",
    ".jsonl",
    ".ndjson",
    ".bibjson",
    ".json.gz",
    ".jsonl.gz",
    ".ndjson.gz",
    ".gz",
)
"""Extensions of the files that are read in a folder. A file whose own path is given is read with
any extension.
"""


def iter_file_records(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (location, record) for each record in a file, such as `line 7` and decoded JSON.

    If a record cannot be decoded, the second value is a RefusedRecord with the reason. Raises
    OSError if the file cannot be read.
    """
    with _open_file(path) as stream:
        bounded_lines = _BoundedLines(
            stream, max(UNPACKED_MIN_BYTES, RATIO_MAX * path.stat().st_size)
        )
        number = 0
        try:
            for number, line in enumerate(bounded_lines.iter_lines(), 1):
                yield from _parse_line(f"line {number}", line)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield (
                f"line {number + 1}",
                RefusedRecord(RefusalReason.UNPACKING, f"decompression failed: {error}"),
            )


class _BoundedLines:
    """Reader of the lines of a stream of JSON, with a maximum length of lines.

    If the first line begins a JSON value that continues on further lines, the whole stream is
    yielded as one value. The maximum length of this value is that of a file.
    """

    def __init__(self, stream: IO[bytes], unpacked_max_bytes: int) -> None:
        self._stream = stream
        self._remaining_bytes = unpacked_max_bytes

    def iter_lines(self) -> Iterator[bytes | RefusedRecord]:
        first = self._stream.readline(FILE_MAX_BYTES)
        if first[:1] in b"{[" and first.endswith(b"\n") and not _is_json(first):
            rest = self._stream.read(FILE_MAX_BYTES)
            if _is_json(first + rest):
                yield first + rest
                return
            yield first
            yield from self._iter_taken(rest.splitlines(keepends=True))
        elif first:
            yield first
        self._remaining_bytes -= len(first)
        yield from self._iter_taken(iter(lambda: self._stream.readline(LINE_MAX_BYTES + 1), b""))

    def _iter_taken(self, lines: Any) -> Iterator[bytes | RefusedRecord]:
        is_rest = False
        for line in lines:
            self._remaining_bytes -= len(line)
            if self._remaining_bytes < 0:
                yield RefusedRecord(
                    RefusalReason.TOO_LONG,
                    (f"the file decompresses to over {RATIO_MAX} times its size"),
                )
                return
            too_long = len(line) > LINE_MAX_BYTES
            if too_long and not is_rest:
                yield RefusedRecord(
                    RefusalReason.TOO_LONG, f"a line has more than {LINE_MAX_BYTES:,} bytes"
                )
            if not too_long and not is_rest:
                yield line
            is_rest = too_long and not line.endswith(b"\n")


def _parse_line(location: str, line: bytes | RefusedRecord) -> Iterator[tuple[str, Any]]:
    if isinstance(line, RefusedRecord):
        yield location, line
        return
    if not line.strip():
        return
    try:
        value = decode_json(line)
    except ValueError as error:
        yield location, RefusedRecord(RefusalReason.NOT_JSON, str(error))
        return
    records = list(iter_records(value))
    for number, record in enumerate(records, 1):
        yield (f"{location}, record {number}" if len(records) > 1 else location), record


def _is_json(data: bytes) -> bool:
    try:
        decode_json(data)
    except ValueError:
        return False
    return True


def _open_file(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == GZIP_MAGIC
    return cast(IO[bytes], gzip.open(path, "rb") if is_gzip else path.open("rb"))
