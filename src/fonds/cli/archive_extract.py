"""`fonds archive extract`: write the body or the whole record of one capture."""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import click
import msgspec
from msgspec import Meta

from fonds.cli.context import App, command, echo_json, print_note
from fonds.cli.json_answers import build_answer
from fonds.model.capture import Place, PlaceKind, format_datetime14, parse_datetime14
from fonds.model.errors import ConfigurationError, PermanentError
from fonds.model.record_offset import format_record_place, parse_record_place
from fonds.model.rows import CdxRow

if TYPE_CHECKING:
    from fonds.ports import Stores, WarcArchive

_SEPARATORS = re.compile(r"[-:TZ ]")


_Offset = Annotated[
    int,
    Meta(description="offset; for the n-th record in one member plus 2^40 (n - 1)"),
]
_BodyLength = Annotated[int, Meta(description="length of the decoded body")]
_Status = Annotated[int | None, Meta(description="HTTP status")]


class RecordAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a record in a WARC file that the user named by its path."""

    warc_path: Annotated[str, Meta(description="path of the WARC")]
    warc_offset: _Offset
    record_type: Annotated[str | None, Meta(description="type of the record (`WARC-Type`)")]
    url: Annotated[str | None, Meta(description="URL of the record (`WARC-Target-URI`)")]
    date: Annotated[str | None, Meta(description="time of the record (`WARC-Date`)")]
    status: _Status
    body_bytes: _BodyLength


class CaptureAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a capture of the library, with the columns of its `cdx` row, and the capture
    from which its body is read.
    """

    capture_id: Annotated[str, Meta(description="id of the capture")]
    sha1hex: Annotated[str, Meta(description="SHA-1 of the body")]
    url: Annotated[str, Meta(description="URL of the capture")]
    surt: Annotated[str, Meta(description="URL as SURT")]
    surt_key: Annotated[str, Meta(description="sort key of the SURT")]
    datetime: Annotated[str, Meta(description="time of the capture, 14 digits")]
    mimetype: Annotated[str, Meta(description="media type, `warc/revisit` for a revisit")]
    status: _Status
    warc_path: Annotated[str, Meta(description="name or path of the WARC")]
    warc_csize: Annotated[int | None, Meta(description="compressed length in the WARC")]
    warc_offset: _Offset
    row_created: Annotated[dt.datetime, Meta(description="when the capture was recorded")]
    body_bytes: Annotated[
        int | msgspec.UnsetType,
        Meta(description="length of the decoded body; omitted with --record"),
    ] = msgspec.UNSET
    source: Annotated[
        CdxRow | msgspec.UnsetType,
        Meta(description="capture that holds the body; omitted with --record"),
    ] = msgspec.UNSET


@command(
    "extract",
    answers={
        "one for a path and offset": RecordAnswer,
        "one for a known capture": CaptureAnswer,
    },
)
@click.argument("key", metavar="CAPTURE|URL|WARC:OFFSET")
@click.option(
    "--at",
    "at",
    metavar="TIME",
    help="With a URL: the capture nearest to this time [the newest].",
)
@click.option("--record", "whole", is_flag=True, help="Write the whole WARC record, decompressed.")
@click.option(
    "-o", "out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this new file."
)
def extract(app: App, key: str, at: str | None, whole: bool, out: Path | None) -> int:
    """Extract one capture from the WARC files.

    Writes its decoded body, or with --record its whole WARC record.

    Name the capture by its id, its URL, or its place: a WARC name or path, a colon and an offset. A
    path needs no library. For a revisit, extract the body of the capture it refers to. With --json,
    print the capture's metadata to standard output and write the body only to -o.

    \b
    fonds archive extract https://example.org/report.pdf -o report.pdf
    fonds archive extract https://example.org/ --at 20240301
    fonds archive extract crawl.warc.gz:31337 --record
    """
    if out is not None and out.exists():
        raise click.UsageError(f"{out} already exists. Choose another name.")
    place = parse_record_place(key)
    answer: RecordAnswer | CaptureAnswer
    if place and Path(place[0]).is_file():
        if at:
            raise click.UsageError("--at needs a URL.")
        path = str(Path(place[0]).absolute())
        answer, pieces = _read_at_path(app, path, place[1], whole_record=whole)
    else:
        answer, pieces = _read_known(app, key, at, whole_record=whole)
    if app.is_json:
        echo_json(answer)
    if out is not None:
        _write_new_file(out, pieces)
    elif not app.is_json:
        _copy_pieces(pieces(), sys.stdout.buffer)
    return 0


Pieces = Callable[[], Iterator[bytes]]


def _read_at_path(
    app: App, path: str, offset: int, *, whole_record: bool
) -> tuple[RecordAnswer, Pieces]:
    # Imported here because the stores are slow to import.
    from fonds.wiring.archive import open_archive

    files = open_archive(app.home, app.load_settings())
    payload = files.read(Place(PlaceKind.WARC, path, offset))
    fields = payload.warc_headers
    answer = RecordAnswer(
        path,
        offset,
        fields.get("WARC-Type"),
        fields.get("WARC-Target-URI"),
        fields.get("WARC-Date"),
        payload.http.status if payload.http else None,
        len(payload.body),
    )
    if whole_record:
        return answer, _read_record(files, path, offset)
    return answer, lambda: iter([payload.body])


def _read_known(
    app: App, key: str, time: str | None, *, whole_record: bool
) -> tuple[CaptureAnswer, Pieces]:
    # Imported here because the archive is slow to import.
    from fonds.archive.replay.bodies import load_capture_body

    stores = app.open_stores()
    row = _find_row(stores, key, time)
    if whole_record:
        record = _read_record(stores.archive, _find_path(stores, row), row.warc_offset)
        return build_answer(CaptureAnswer, row), record
    loaded_body = load_capture_body(stores.records, stores.archive, row)
    if loaded_body.source is not row:
        print_note(
            "The body is stored at "
            f"{format_record_place(loaded_body.source.warc_path, loaded_body.source.warc_offset)}"
        )
    answer = build_answer(
        CaptureAnswer, row, body_bytes=len(loaded_body.body), source=loaded_body.source
    )
    return answer, lambda: iter([loaded_body.body])


def _find_path(stores: Stores, row: CdxRow) -> str:
    """Return the name or path of the WARC file that has a capture.

    A bare name from an imported index is resolved to the one path that has this name. Raises
    PermanentError if several paths have it.
    """
    # Imported here because the archive is slow to import.
    from fonds.archive.table_places import is_indexed
    from fonds.archive.warc_names import list_paths

    if "/" in row.warc_path or not is_indexed(row.capture_id):
        return row.warc_path
    return next(iter(list_paths(stores.records, row.warc_path)), row.warc_path)


def _find_row(stores: Stores, key: str, time: str | None) -> CdxRow:
    """Return the `cdx` row of a capture.

    `key`: WARC and offset, id, or URL of the capture.
    `time`: chooses the capture of a URL that is nearest to this time; None chooses the newest.

    Raises ConfigurationError if there is no such capture, and click.UsageError if a time is given
    without a URL. The SQL table `cdx` has one row per capture in a WARC.
    """
    # Imported here because the archive is slow to import.
    from fonds.archive.replay.captures import MAX_DATETIME14, find_last_before, find_nearest

    place = parse_record_place(key)
    by_place = stores.records.get(CdxRow, [place]) if place else []
    by_id = stores.records.find(CdxRow, {"capture_id": key}, count_max=1)
    row = next(iter(by_place), None) or next(by_id, None)
    if row is not None and time:
        raise click.UsageError("--at needs a URL.")
    if row is None and time:
        digits = _parse_time14(time)
        row = find_nearest(stores.records, key, parse_datetime14(digits), digits)
        if row is not None and not row.datetime.startswith(_SEPARATORS.sub("", time)):
            print_note(f"The capture nearest to {time} was made at {row.datetime}")
    elif row is None:
        row = find_last_before(stores.records, key, MAX_DATETIME14)
    if row is None:
        raise ConfigurationError(
            f"No capture for {key!r}. Give the id, the place or the URL of a capture, or "
            "run `fonds show`."
        )
    return row


def _parse_time14(text: str) -> str:
    """Return a time, given in a common notation, as 14 digits in UTC.

    Raises click.UsageError for an invalid time.
    """
    # Imported here because the archive is slow to import.
    from fonds.archive.replay.captures import pad_lower14
    from fonds.archive.warc.fields import parse_date

    try:
        return pad_lower14(_SEPARATORS.sub("", text))
    except ValueError as error:
        moment = parse_date(text)
        if moment is None:
            raise click.UsageError(f"--at {text!r}: {error}") from error
        return format_datetime14(moment)


def _read_record(files: WarcArchive, path: str, offset: int) -> Pieces:
    """Return a function that yields the bytes of a WARC record in pieces.

    Raises ConfigurationError for a WARC file at a URL, because only bodies can be read from there.
    """
    # Imported here because the archive is slow to import.
    from fonds.archive.warc.reader import iter_record_bytes

    if "://" in path:
        raise ConfigurationError(
            f"{path} is stored elsewhere. Only bodies can be read from there, not records."
        )

    def pieces() -> Iterator[bytes]:
        try:
            with files.open(path) as stream:
                yield from iter_record_bytes(stream, offset)
        except PermanentError as error:
            raise type(error)(error.reason, f"{path}: {error.detail}") from error

    return pieces


def _write_new_file(out: Path, pieces: Pieces) -> None:
    """Write pieces of bytes to a new file. The file is removed if writing fails.

    Raises click.UsageError if the file exists or cannot be written.
    """
    try:
        with out.open("xb") as stream:
            try:
                _copy_pieces(pieces(), stream)
            except BaseException:
                out.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise click.UsageError(f"Cannot write {out}: {error.strerror}") from error


def _copy_pieces(pieces: Iterator[bytes], out: BinaryIO) -> None:
    for piece in pieces:
        out.write(piece)
    out.flush()
