"""Parquet files of an extraction job: one per row type (`files`, `captures`) and range of SHA-1s.
Each file is written completely or not at all.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fonds.model.errors import find_shortage
from fonds.model.parquet import build_arrow_schema, convert_rows

ROWS_MAX = 200
GROUP_BYTES = 32 * 2**20
"""Maximum number of rows buffered for one Parquet file, and of bytes of their texts and pictures.
At either limit the rows are written to the file.
"""
UNFINISHED_SUFFIX = ".unfinished"
Schemas = Mapping[str, Mapping[str, str]]


@dataclass(slots=True)
class ParquetFiles:
    """The Parquet files that are being written for one range of records. There is one file per row
    type.

    The row types are `files` (one row per body) and `captures` (one row per capture). All mappings
    have the row type as key.

    - `writers`: pyarrow writers.
    - `columns`: columns and their types.
    - `pending`: rows in memory that are not written yet.
    - `sizes_bytes`: bytes of texts and pictures in the rows in memory.
    """

    writers: Mapping[str, Any]
    columns: Schemas
    pending: defaultdict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    sizes_bytes: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, name: str, row: dict[str, Any]) -> None:
        """Buffer a row of the type `name`, and write the buffer if it is full.

        `name` is `files` or `captures`. The row must have all columns of its type.
        """
        self.pending[name].append(row)
        self.sizes_bytes[name] += sum(
            len(value) for value in row.values() if isinstance(value, str | bytes)
        )
        if len(self.pending[name]) >= ROWS_MAX or self.sizes_bytes[name] >= GROUP_BYTES:
            self.flush(name)

    def flush(self, name: str) -> None:
        """Write the buffered rows of the type `name` (`files` or `captures`) to the Parquet file of
        this type.
        """
        import pyarrow

        rows, writer = self.pending.pop(name, []), self.writers[name]
        self.sizes_bytes.pop(name, None)
        if rows:
            typed_rows = convert_rows(rows, self.columns[name])
            writer.write_table(pyarrow.Table.from_pylist(typed_rows, schema=writer.schema))


@contextmanager
def open_result_files(folder: Path, schemas: Schemas, number: int) -> Iterator[ParquetFiles]:
    """Open one zstd-compressed file `TYPE/part-NUMBER.parquet` per row type below `folder`.

    The files have temporary names until they are complete. A killed process leaves its temporary
    files, which `sweep` removes. Raises OSError if a file cannot be written, and StorageFullError
    if the disk is full.
    """
    partials = {name: _temporary_path(folder / name, number) for name in schemas}
    try:
        with ExitStack() as open_writers:
            files = ParquetFiles(
                {
                    name: open_writers.enter_context(_open_writer(partials[name], columns))
                    for name, columns in schemas.items()
                },
                schemas,
            )
            yield files
            for name in schemas:
                files.flush(name)
        for name, partial in partials.items():
            with partial.open("rb") as stream:
                os.fsync(stream.fileno())
            partial.replace(folder / name / f"part-{number:05d}.parquet")
    except OSError as error:
        raise find_shortage(error) or error from error
    finally:
        for partial in partials.values():
            partial.unlink(missing_ok=True)


def sweep(folder: Path, schemas: Schemas) -> None:
    """Remove temporary Parquet files that killed processes left below `folder`. Call it only while
    no process writes Parquet files there.
    """
    for name in schemas:
        for partial in (folder / name).glob(f".*{UNFINISHED_SUFFIX}"):
            partial.unlink(missing_ok=True)


def _temporary_path(folder: Path, number: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f".part-{number:05d}.{os.getpid()}{UNFINISHED_SUFFIX}"


def _open_writer(path: Path, columns: Mapping[str, str]) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(path, build_arrow_schema(columns), compression="zstd")
