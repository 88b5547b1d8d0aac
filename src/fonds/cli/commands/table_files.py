"""`fonds table export` and `import`: a whole table into a file and out of one."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import click
import msgspec

from fonds.cli.context import App, command, echo_json, say
from fonds.cli.inbox import file_named
from fonds.cli.names import Name
from fonds.cli.stores.journal_table import base32_option, opened, table_option
from fonds.formats.journal.older import COLUMNS as DUMPED
from fonds.formats.journal.older import dump_line, row_from_dump
from fonds.formats.journal.schema import Schema
from fonds.formats.journal.texts import row_from_line, row_line
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.numbers import how_many
from fonds.ports import Table
from fonds.ports.walking import walk_rows

SCAN_ROWS = 100
PUT_ROWS = 500
LINE_MAX_BYTES = 256 * 1024**2
NAMED_MAX = 5
FORMS = ["jsonl", "tsv"]
Row = tuple[bytes, dict[str, bytes]]

form_option = click.option("--format", "form", type=Name("format", FORMS), default="jsonl")


@command("export")
@click.argument("file", metavar="FILE|-")
@form_option
@table_option
@base32_option
def export_table(app: App, file: str, form: str, name: str | None, base32: bool) -> int:
    """Write all rows into FILE in the order of their keys, packed if its name ends in .gz.

    JSON lines hold every cell and come in again as they were. `tsv` is the form older tools of this field
    dump and read: key, f:c, file:mime and file:cdx of every file that has the three.

    \b
    fonds table export journal.jsonl.gz
    fonds table export ungrobided.tsv --format tsv
    """
    store, chosen, schema = opened(app, name)
    columns = list(DUMPED) if form == "tsv" else None
    rows = walk_rows(store, chosen, columns=columns, page_rows=SCAN_ROWS)
    counts = {"rows": 0, "left_out": 0}
    with _written(file) as stream:
        for key, cells in rows:
            line = _dumped(key, cells) if form == "tsv" else _line(key, cells, schema, base32)
            counts["rows" if line is not None else "left_out"] += 1
            if line is not None:
                stream.write(line + b"\n")
    if app.json and file != "-":
        echo_json(counts)
    elif not app.quiet:
        left = f"; {counts['left_out']:,} have no line in this form" if counts["left_out"] else ""
        say(f"{how_many(counts['rows'], 'row')} written{left}.")
    return 0


@command("import")
@click.argument("file", metavar="FILE|URL|-")
@form_option
@table_option
@click.option("--keep-keys", is_flag=True, help="Keep keys of older tables, `sha1:` and base32.")
def import_table(app: App, file: str, form: str, name: str | None, keep_keys: bool) -> int:
    """Read rows out of FILE, packed or not; cells of the same row and column are replaced, others stay.

    What `fonds table export` wrote, and what tools of the HBase era dumped. Keys become the 20 raw bytes.
    Exit code 1 when a line could not be understood; the others are taken.

    \b
    fonds table import example_ungrobided.tsv --format tsv
    fonds table import https://example.org/journal.jsonl.gz
    """
    store, chosen, schema = opened(app, name)
    read: Callable[[bytes], Row] = (
        row_from_dump if form == "tsv" else lambda line: row_from_line(line, older=keep_keys)
    )
    refused: list[str] = []
    own = name is None

    def understood(lines: Iterable[bytes]) -> Iterator[Row]:
        for number, line in enumerate(lines, 1):
            try:
                key, cells = read(line)
                for column in cells if own else ():
                    schema.column(column)
                yield key, cells
            except (ValueError, ConfigurationError) as error:
                refused.append(f"line {number}: {error}" if len(refused) < NAMED_MAX else "")

    with file_named(file, app) as path, _lines(str(path)) as lines:
        count = _put(store, chosen, understood(lines))
    for told in filter(None, refused):
        say(f"{file}: {told}")
    if app.json:
        echo_json({"rows": count, "refused": len(refused)})
    elif not app.quiet:
        say(f"{how_many(count, 'row')} taken in, {how_many(len(refused), 'line')} refused.")
    return 1 if refused else 0


def _dumped(key: bytes, cells: dict[str, bytes]) -> bytes | None:
    try:
        return dump_line(key, cells)
    except ValueError:
        return None


def _line(key: bytes, cells: dict[str, bytes], schema: Schema, base32: bool) -> bytes:
    return msgspec.json.encode(row_line(key, cells, schema, base32=base32))


def _put(store: Table, name: str, rows: Iterator[Row]) -> int:
    count, batch = 0, []
    for row in rows:
        batch.append(row)
        if len(batch) >= PUT_ROWS:
            store.put(name, batch)
            count, batch = count + len(batch), []
    store.put(name, batch)
    return count + len(batch)


@contextmanager
def _written(file: str) -> Iterator[BinaryIO]:
    """Whole or not at all: under another name until it is complete."""
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    partial = path.with_name(path.name + ".part")
    try:
        packed = file.endswith(".gz")
        with cast(
            BinaryIO, gzip.open(partial, "wb", 6) if packed else partial.open("wb")
        ) as stream:
            yield stream
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ConfigurationError(f"{path} cannot be written: {cause_of(error)}") from error


@contextmanager
def _lines(file: str) -> Iterator[Iterator[bytes]]:
    """Lines of a file or of standard input, each of at most 256 MiB."""
    if file == "-":
        yield _bounded(sys.stdin.buffer)
        return
    try:
        with Path(file).open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
        with cast(BinaryIO, gzip.open(file, "rb") if packed else Path(file).open("rb")) as stream:
            yield _bounded(stream)
    except (OSError, EOFError) as error:
        raise ConfigurationError(f"{file} cannot be read: {cause_of(error)}") from error


def _bounded(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(LINE_MAX_BYTES):
        if line.strip():
            yield line.rstrip(b"\r\n")
