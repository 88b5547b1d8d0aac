"""`fonds table`: inspect, edit, count, export and import the wide-row table."""

from __future__ import annotations

import gzip
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

import click
import msgspec
from msgspec import Meta
from rich.markup import escape

from fonds.cli.context import (
    App,
    build_global_options,
    command,
    echo_json,
    open_console,
    print_note,
)
from fonds.cli.inputs import open_named_file
from fonds.cli.names import CommandGroup, SuggestingChoice
from fonds.cli.table_options import (
    base32_option,
    engine_option,
    open_table,
    select_columns,
    table_option,
    workers_option,
)
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError, cause_of
from fonds.ports import Table
from fonds.ports.scan import iter_rows
from fonds.stores.journal_table.dumps import COLUMNS as DUMPED
from fonds.stores.journal_table.dumps import (
    build_row_line,
    dump_line,
    parse_cell,
    parse_dump_line,
    parse_row_line,
)
from fonds.stores.journal_table.keys import (
    SHA1_BYTES,
    build_old_key,
    format_key,
    name_journal_table,
    parse_key,
)
from fonds.stores.journal_table.schema import (
    Schema,
    build_create_statement,
    build_journal_schema,
    parse_table_options,
)

# `fonds table stats`: count the rows and files of a table.


class RowAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a row of a table in the wide-row store."""

    key: Annotated[str, Meta(description="key of the row, in hex or base32")]
    cells: Annotated[
        Mapping[str, Any], Meta(description="its cells by `family:name`, typed by column")
    ]


class WrittenRowAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a row that was written to a table in the wide-row store."""

    key: Annotated[str, Meta(description="key of the row")]
    cells: Annotated[int, Meta(description="cells written")]


class CreatedTableAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a table that was created in the wide-row store."""

    table: Annotated[str, Meta(description="name of the table")]
    families: Annotated[Sequence[str], Meta(description="its column families")]


class TableAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a table in the wide-row store."""

    table: Annotated[str, Meta(description="name of the table")]
    families: Annotated[Sequence[str], Meta(description="its column families")]
    journal: Annotated[bool, Meta(description="whether it is the journal of this library")]


class ExportAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of rows that were exported from a table in the wide-row store."""

    rows: Annotated[int, Meta(description="rows written")]
    left_out: Annotated[int, Meta(description="rows that this format cannot represent")]


class ImportAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of rows that were imported into a table in the wide-row store."""

    rows: Annotated[int, Meta(description="rows written")]
    refused: Annotated[int, Meta(description="lines that are not rows")]


@command("stats", output="counts by subject and value")
@table_option
@engine_option
@workers_option
@click.option(
    "--large", is_flag=True, help="Also read large cells, to count the rows without them."
)
def count_table(app: App, name: str | None, engine: str, workers: int, large: bool) -> int:
    """Count the rows and files of a table.

    Also counts by type and status code, rows without a column, and captures per file.

    \b
    fonds table stats
    fonds table stats --json --engine spark://master:7077
    """
    # Imported here because the jobs are slow to import.
    from fonds.wiring.jobs import build_table_counting_job, open_engine

    settings = app.load_settings()
    _, table_name, schema = open_table(app, name)
    running = open_engine(engine, app.home, settings, workers=workers)
    job = build_table_counting_job(
        table_name, schema, app.home, settings, large, uuid.uuid4().hex[:16]
    )
    counts_by_subject = _group_by_subject(running.run(job))
    if app.is_json:
        echo_json(counts_by_subject)
        return 0
    screen = open_console()
    for subject, counts in counts_by_subject.items():
        if list(counts) == [""]:
            screen.print(f"{counts['']:>14,}  {subject}")
            continue
        screen.print(f"[bold]{escape(subject)}[/bold]")
        for value, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            screen.print(f"{count:>14,}  {escape(value)}")
    return 0


def _group_by_subject(results: Iterator[bytes]) -> Mapping[str, Mapping[str, int]]:
    counts_by_subject: dict[str, dict[str, int]] = {}
    for result in results:
        subject, value, count = msgspec.json.decode(result)
        counts_by_subject.setdefault(subject, {})[value] = count
    return counts_by_subject


# `fonds table export` and `import`: write a table to a file, and read it back.


SCAN_ROWS = 100
ROW_BATCH = 500
LINE_MAX_BYTES = 256 * 1024**2
NAMES_MAX = 5
FORMS = ["jsonl", "tsv"]
Row = tuple[bytes, dict[str, bytes]]

form_option = click.option(
    "--format", "form", type=SuggestingChoice("format", FORMS), default="jsonl"
)


@command("export", answers={"one, if a file is written": ExportAnswer})
@click.argument("file", metavar="FILE|-")
@form_option
@table_option
@base32_option
def export_table(app: App, file: str, form: str, name: str | None, base32: bool) -> int:
    """Write all rows to FILE in the order of their keys.

    The file is compressed if its name ends in .gz. JSON lines contain every cell and can be
    imported without loss. `tsv` is the dump format of older tools in this field: key, f:c,
    file:mime and file:cdx, for every file that has all three.

    \b
    fonds table export journal.jsonl.gz
    fonds table export ungrobided.tsv --format tsv
    """
    store, table_name, schema = open_table(app, name)
    columns = list(DUMPED) if form == "tsv" else None
    rows = iter_rows(store, table_name, columns=columns, page_rows=SCAN_ROWS)
    n_rows = n_left_out = 0
    with _write_file(file) as stream:
        for key, cells in rows:
            line = (
                _encode_dump_line(key, cells)
                if form == "tsv"
                else _encode_line(key, cells, schema, base32)
            )
            if line is None:
                n_left_out += 1
            else:
                n_rows += 1
                stream.write(line + b"\n")
    if app.is_json and file != "-":
        echo_json(ExportAnswer(n_rows, n_left_out))
    elif not app.is_quiet:
        left_out_note = (
            f"; {n_left_out:,} left out because this format cannot represent them"
            if n_left_out
            else ""
        )
        print_note(f"{pluralize(n_rows, 'row')} written{left_out_note}.")
    return 0


@command("import", answers={"one": ImportAnswer})
@click.argument("file", metavar="FILE|URL|-")
@form_option
@table_option
@click.option(
    "--keep-keys", is_flag=True, help="Keep the keys of older tables (`sha1:` and base32)."
)
def import_table(app: App, file: str, form: str, name: str | None, keep_keys: bool) -> int:
    """Import rows from FILE, compressed or not.

    Imported cells replace those of the same row and column, and other cells are kept. FILE is an
    output of `fonds table export`, or a dump of a tool of the HBase era. Keys become the 20 raw
    bytes. The exit code is 1 if a line is invalid; the other lines are imported.

    \b
    fonds table import example_ungrobided.tsv --format tsv
    fonds table import https://example.org/journal.jsonl.gz
    """
    store, table_name, schema = open_table(app, name)
    read: Callable[[bytes], Row] = (
        parse_dump_line if form == "tsv" else lambda line: parse_row_line(line, older=keep_keys)
    )
    refusals: list[str] = []
    is_own_table = name is None

    def understood(lines: Iterable[bytes]) -> Iterator[Row]:
        for number, line in enumerate(lines, 1):
            try:
                key, cells = read(line)
                for column in cells if is_own_table else ():
                    schema.get_column(column)
                yield key, cells
            except (ValueError, ConfigurationError) as error:
                refusals.append(f"line {number}: {error}" if len(refusals) < NAMES_MAX else "")

    with open_named_file(file, app) as path, _open_lines(str(path)) as lines:
        count = _load_rows(store, table_name, understood(lines))
    for refusal in filter(None, refusals):
        print_note(f"{file}: {refusal}")
    if app.is_json:
        echo_json(ImportAnswer(count, len(refusals)))
    elif not app.is_quiet:
        print_note(
            f"{pluralize(count, 'row')} imported, {pluralize(len(refusals), 'line')} refused."
        )
    return 1 if refusals else 0


def _encode_dump_line(key: bytes, cells: dict[str, bytes]) -> bytes | None:
    try:
        return dump_line(key, cells)
    except ValueError:
        return None


def _encode_line(key: bytes, cells: dict[str, bytes], schema: Schema, base32: bool) -> bytes:
    return msgspec.json.encode(build_row_line(key, cells, schema, base32=base32))


def _load_rows(store: Table, name: str, rows: Iterator[Row]) -> int:
    count, batch = 0, []
    for row in rows:
        batch.append(row)
        if len(batch) >= ROW_BATCH:
            store.put(name, batch)
            count, batch = count + len(batch), []
    store.put(name, batch)
    return count + len(batch)


@contextmanager
def _write_file(file: str) -> Iterator[BinaryIO]:
    """Context manager that opens a file, or standard output for `-`, for writing bytes.

    A name that ends in `.gz` is compressed. The file gets its name only when it is complete. Raises
    ConfigurationError if it cannot be written.
    """
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    partial = path.with_name(path.name + ".part")
    try:
        is_compressed = file.endswith(".gz")
        with cast(
            BinaryIO, gzip.open(partial, "wb", 6) if is_compressed else partial.open("wb")
        ) as stream:
            yield stream
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ConfigurationError(f"Cannot write {path}: {cause_of(error)}") from error


@contextmanager
def _open_lines(file: str) -> Iterator[Iterator[bytes]]:
    """Context manager that yields the lines of a file, or of standard input for `-`.

    A gzip file is decompressed. Lines longer than 256 MiB are yielded in several pieces. Raises
    ConfigurationError if the file cannot be read.
    """
    if file == "-":
        yield _iter_bounded_lines(sys.stdin.buffer)
        return
    try:
        with Path(file).open("rb") as plain:
            is_compressed = plain.read(2) == b"\x1f\x8b"
        with cast(
            BinaryIO, gzip.open(file, "rb") if is_compressed else Path(file).open("rb")
        ) as stream:
            yield _iter_bounded_lines(stream)
    except (OSError, EOFError) as error:
        raise ConfigurationError(f"Cannot read {file}: {cause_of(error)}") from error


def _iter_bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(LINE_MAX_BYTES):
        if line.strip():
            yield line.rstrip(b"\r\n")


EXCERPT_CHARS = 300
PAGE_ROWS = 200
LATER_MAX = 1000
REGIONS = 16


@click.group("table", cls=CommandGroup)
@click.pass_context
def table(ctx: click.Context, /, **flags: Any) -> None:
    """Inspect and edit the wide-row table.

    The table has one row per file, keyed by its SHA-1, followed by one for each later capture. A
    KEY is a SHA-1 in hex or base32, or a key as `scan` shows it.

    \b
    fonds table list
    fonds table get SD75ENMQBDMCFGECDULLEF3YYXBZV3BW
    fonds table scan --from 90 --limit 20 --column file:cdx
    fonds table export journal.jsonl
    """
    ctx.obj = ctx.obj.with_flags(**flags)


table.params += build_global_options()


@command("create", answers={"one": CreatedTableAnswer})
@table_option
@click.option(
    "--shell", is_flag=True, help="Print commands for the HBase shell, and create nothing."
)
@click.option(
    "--regions",
    type=click.IntRange(1, 4096),
    help=f"Number of regions with --shell [from the table's URL, else {REGIONS}].",
)
def create(app: App, name: str | None, shell: bool, regions: int | None) -> int:
    """Create the journal table, or another table of the same kind.

    Creating it again does no harm. Other commands create it when they need it. A Thrift server
    cannot split a new table into regions. --shell prints a statement for the HBase shell that does,
    with families, versions and compression.

    \b
    fonds table create
    fonds table create --shell --regions 64 | hbase shell -n
    """
    settings = app.load_settings()
    schema = build_journal_schema(settings.table_families)
    table_name = name or name_journal_table(settings.group, settings.table_version, settings.env)
    if shell:
        families = {family.name: family.compression for family in schema.families}
        in_memory, configured_regions = parse_table_options(settings.table)
        count = regions or (configured_regions if configured_regions > 1 else REGIONS)
        click.echo(build_create_statement(table_name, families, count, in_memory))
        return 0
    store = app.open_table(settings, table_name, create=True)
    store.declare(table_name, schema.names, compressions=schema.compressions)
    if app.is_json:
        echo_json(CreatedTableAnswer(table_name, schema.names))
    else:
        open_console().print(f"{escape(table_name)} exists, with {', '.join(schema.names)}.")
    return 0


@command("list", answers={"one for each table": TableAnswer})
def list_(app: App) -> int:
    """List the tables of the store with their families.

    \b
    fonds table list --json
    """
    store, journal, _ = open_table(app, None)
    for name, families in sorted(store.list_tables().items()):
        if app.is_json:
            echo_json(TableAnswer(name, sorted(families), name == journal))
        else:
            mark = " (the journal)" if name == journal else ""
            open_console().print(f"{escape(name)}{mark}: {escape(', '.join(sorted(families)))}")
    return 0


@command("get", answers={"one for each row": RowAnswer})
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@table_option
@click.option("--column", "columns", multiple=True, metavar="FAMILY:NAME", help="Only this column.")
@base32_option
def get(
    app: App, keys: tuple[str, ...], name: str | None, columns: tuple[str, ...], base32: bool
) -> int:
    """Show the rows of files and of their later captures.

    The exit code is 1 if a key has no row.

    \b
    fonds table get 90ffd2359008d82298821d16b21778c5c39aec36
    fonds table get SD75ENMQBDMCFGECDULLEF3YYXBZV3BW --column file:cdx --json
    """
    store, table_name, schema = open_table(app, name)
    selected_columns, lacking = select_columns(schema, columns), 0
    for text in keys:
        prefix = _parse_key(text)
        rows = store.scan(table_name, prefix, count_max=LATER_MAX + 1, columns=selected_columns)
        rows += [*store.get(table_name, _build_crawler_keys(prefix), selected_columns).items()]
        for key, cells in rows[:LATER_MAX]:
            _print_row(app, RowAnswer(**build_row_line(key, cells, schema, base32=base32)))
        if not rows:
            print_note(f"No row has the key {text}.")
            lacking += 1
        elif len(rows) > LATER_MAX:
            scan_command = app.format_command(f"table scan --from {text}")
            print_note(f"{text} has more than the {LATER_MAX:,} rows shown. Run `{scan_command}`.")
    return 1 if lacking else 0


@command("put", answers={"one": WrittenRowAnswer})
@click.argument("key")
@click.argument("cells", nargs=-1, required=True, metavar="FAMILY:NAME=VALUE...")
@table_option
def put(app: App, key: str, cells: tuple[str, ...], name: str | None) -> int:
    """Write cells of one row. Other cells are kept.

    VALUE is checked against the column's type. @FILE means the bytes of a file.

    \b
    fonds table put 90ffd2359008d82298821d16b21778c5c39aec36 grobid0:quality=good
    fonds table put SD75ENMQBDMCFGECDULLEF3YYXBZV3BW grobid0:tei_xml=@paper.tei.xml
    """
    store, table_name, schema = open_table(app, name)
    parsed_cells = {}
    for cell in cells:
        column, equals, value = cell.partition("=")
        if not equals:
            raise click.UsageError(f"{cell!r} is invalid. Write FAMILY:NAME=VALUE.")
        parsed_cells[column] = parse_cell(schema, column, _parse_bytes(value))
    store.put(table_name, [(_parse_key(key), parsed_cells)])
    if app.is_json:
        echo_json(WrittenRowAnswer(format_key(_parse_key(key)), len(parsed_cells)))
    elif not app.is_quiet:
        open_console().print(f"{pluralize(len(parsed_cells), 'cell')} written.")
    return 0


@command("scan", answers={"one for each row": RowAnswer})
@table_option
@click.option("--from", "start", metavar="HEX", default="", help="Start of the keys, in hex.")
@click.option("--after", metavar="KEY", help="Start after this key.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@click.option("--column", "columns", multiple=True, metavar="FAMILY:NAME", help="Only this column.")
@base32_option
def scan(
    app: App,
    name: str | None,
    start: str,
    after: str | None,
    limit: int,
    columns: tuple[str, ...],
    base32: bool,
) -> int:
    """Show rows in the order of their keys.

    \b
    fonds table scan --limit 100 --json
    fonds table scan --from 90ff --column file:mime
    """
    store, table_name, schema = open_table(app, name)
    prefix, last = _parse_prefix(start), _parse_key(after) if after else None
    selected_columns, remaining_count = select_columns(schema, columns), limit
    while remaining_count and (
        rows := store.scan(
            table_name,
            prefix,
            after=last,
            count_max=min(remaining_count, PAGE_ROWS),
            columns=selected_columns,
        )
    ):
        for key, cells in rows:
            _print_row(app, RowAnswer(**build_row_line(key, cells, schema, base32=base32)))
        remaining_count, last = remaining_count - len(rows), rows[-1][0]
    if (
        not remaining_count
        and last
        and store.scan(table_name, prefix, after=last, count_max=1, columns=selected_columns)
    ):
        print_note(f"{limit:,} shown; more: --after {format_key(last, base32=base32)}")
    return 0


def _parse_key(text: str) -> bytes:
    try:
        return parse_key(text)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _parse_prefix(text: str) -> bytes:
    try:
        return bytes.fromhex(text) if len(text) < 32 else parse_key(text)
    except ValueError as error:
        raise ConfigurationError(f"--from {text!r} is not the start of a key in hex.") from error


def _parse_bytes(value: str) -> bytes:
    if not value.startswith("@"):
        return value.encode("utf-8", "surrogateescape")
    try:
        return Path(value[1:]).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"Cannot read {value[1:]}: {error.strerror}") from error


def _build_crawler_keys(key: bytes) -> list[bytes]:
    """Return a list with the table key `sha1:BASE32` of a file, which crawlers use.

    `key`: the SHA-1 of the file in bytes. Returns an empty list for a key of another length.
    """
    return [build_old_key(key.hex())] if len(key) == SHA1_BYTES else []


def _print_row(app: App, row: RowAnswer) -> None:
    if app.is_json:
        echo_json(row)
        return
    screen = open_console()
    screen.print(f"[bold]{escape(row.key)}[/bold]")
    for name, value in row.cells.items():
        text = str(value)
        cut_note = f"... ({len(text):,} characters)" if len(text) > EXCERPT_CHARS else ""
        shown_text = "".join(c if c.isprintable() else "·" for c in text[:EXCERPT_CHARS])
        screen.print(f"  {escape(name)}  {escape(shown_text)}{cut_note}")


for one in (create, list_, get, put, scan, count_table, export_table, import_table):
    table.add_command(one)
