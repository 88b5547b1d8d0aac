"""`fonds export`: the library as JSON lines or Parquet, with a manifest beside it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from fonds import __version__
from fonds.cli.context import App, command, say
from fonds.cli.names import Name
from fonds.library.searching.rows import FIELDS, exported
from fonds.model.errors import ConfigurationError
from fonds.model.file import Kind
from fonds.model.names import no_such
from fonds.model.rows import EntryRow
from fonds.ports import Stores

CHUNK = 500
Writer = Callable[[Iterator[dict[str, Any]], BinaryIO], int]

KINDS = [Kind.PDF.value, Kind.STORY.value, Kind.JATS.value]


@command("export")
@click.option("--format", "form", type=Name("format", ["jsonl", "parquet"]), default="jsonl")
@click.option(
    "--out", metavar="FILE", help="Where to write; standard output for JSON lines if not given."
)
@click.option("--kind", type=Name("kind", KINDS), metavar="KIND")
@click.option("--collection", metavar="NAME")
@click.option("--no-text", is_flag=True, help="Leave the texts out.")
def export(
    app: App,
    form: str,
    out: str | None,
    kind: str | None,
    collection: str | None,
    no_text: bool,
) -> int:
    """Write one row for each file: hashes, capture, metadata, text; in the order of their SHA-1.

    Beside FILE a manifest FILE.manifest.json says fields, count, SHA-256 and when.

    \b
    fonds export > library.jsonl
    fonds export --format parquet --out library.parquet --kind pdf
    """
    if form == "parquet" and out is None:
        raise click.UsageError(
            "parquet cannot be written to standard output: name a file with --out"
        )
    stores = app.stores()
    rows = exported(stores, with_text=not no_text)
    rows = (
        row
        for row in rows
        if kind in (None, row["kind"]) and collection in (None, row["collection"])
    )
    write = _write_parquet if form == "parquet" else _write_jsonl
    if out is None:
        count = write(rows, sys.stdout.buffer)
    else:
        count, digest = _write_file(Path(out), rows, write)
        _write_manifest(Path(out), form, count, digest)
    if not count:
        say(_nothing(stores, collection))
    if out is not None and not app.quiet:
        say(f"{count:,} rows in {out}, and {out}.manifest.json beside it")
    return 0


def _write_manifest(path: Path, form: str, count: int, digest: str) -> None:
    from fonds.wiring.steps import now

    manifest = {
        "file": path.name,
        "format": form,
        "rows": count,
        "sha256": digest,
        "fields": list(FIELDS),
        "written_at": now(),
        "fonds": __version__,
    }
    Path(f"{path}.manifest.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    )


def _nothing(stores: Stores, collection: str | None) -> str:
    """What is told of an export without rows."""
    if collection is not None:
        known = sorted(name for (name,) in stores.records.count(EntryRow, ("collection",)))
        if collection not in known:
            return f"0 rows: {no_such('collection', collection, known)}"
    return "0 rows: no file here is like this"


def _write_file(path: Path, rows: Iterator[dict[str, Any]], write: Writer) -> tuple[int, str]:
    """Whole or not at all: under another name until it is complete."""
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as stream:
            count = write(rows, stream)
        with partial.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ConfigurationError(f"{path} cannot be written: {error}") from error
    return count, digest


def _write_jsonl(rows: Iterator[dict[str, Any]], stream: BinaryIO) -> int:
    count = 0
    for row in rows:
        stream.write(msgspec.json.encode(row) + b"\n")
        count += 1
    stream.flush()
    return count


def _write_parquet(rows: Iterator[dict[str, Any]], stream: BinaryIO) -> int:
    import pyarrow
    from pyarrow import parquet

    types = {"text": pyarrow.string(), "integer": pyarrow.int64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in FIELDS.items()])
    count = 0
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        while chunk := list(islice(rows, CHUNK)):
            writer.write_table(pyarrow.Table.from_pylist(chunk, schema=schema))
            count += len(chunk)
    return count
