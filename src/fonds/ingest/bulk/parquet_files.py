"""Rows as Parquet files: one of each sort for a range, there whole or not at all."""

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
"""Rows held before they are written: so many, or so many bytes of text and pictures."""
UNFINISHED = ".unfinished"
Schemas = Mapping[str, Mapping[str, str]]


@dataclass(slots=True)
class ParquetFiles:
    """The files of one range while they are written. `writers` are pyarrow's, `columns` what they hold, by
    the sort of row."""

    writers: Mapping[str, Any]
    columns: Schemas
    pending: defaultdict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    sizes_bytes: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, name: str, row: dict[str, Any]) -> None:
        """One more row, with all columns of its sort."""
        self.pending[name].append(row)
        self.sizes_bytes[name] += sum(
            len(one) for one in row.values() if isinstance(one, str | bytes)
        )
        if len(self.pending[name]) >= ROWS_MAX or self.sizes_bytes[name] >= GROUP_BYTES:
            self.flush(name)

    def flush(self, name: str) -> None:
        """Write what is held."""
        import pyarrow

        rows, writer = self.pending.pop(name, []), self.writers[name]
        self.sizes_bytes.pop(name, None)
        if rows:
            typed = convert_rows(rows, self.columns[name])
            writer.write_table(pyarrow.Table.from_pylist(typed, schema=writer.schema))


@contextmanager
def open_result_files(folder: Path, schemas: Schemas, number: int) -> Iterator[ParquetFiles]:
    """Files `SORT/part-NUMBER.parquet` below a folder, zstd; under another name until they are complete.

    Raises OSError, and StorageFullError; whoever is killed leaves files that `sweep` removes.
    """
    beside = {name: _temporary_path(folder / name, number) for name in schemas}
    try:
        with ExitStack() as opened:
            made = ParquetFiles(
                {
                    name: opened.enter_context(_open_writer(beside[name], columns))
                    for name, columns in schemas.items()
                },
                schemas,
            )
            yield made
            for name in schemas:
                made.flush(name)
        for name, partial in beside.items():
            with partial.open("rb") as stream:
                os.fsync(stream.fileno())
            partial.replace(folder / name / f"part-{number:05d}.parquet")
    except OSError as error:
        raise find_shortage(error) or error from error
    finally:
        for partial in beside.values():
            partial.unlink(missing_ok=True)


def sweep(folder: Path, schemas: Schemas) -> None:
    """Remove what killed writers left behind; for when nobody writes."""
    for name in schemas:
        for partial in (folder / name).glob(f".*{UNFINISHED}"):
            partial.unlink(missing_ok=True)


def _temporary_path(folder: Path, number: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f".part-{number:05d}.{os.getpid()}{UNFINISHED}"


def _open_writer(path: Path, columns: Mapping[str, str]) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(path, build_arrow_schema(columns), compression="zstd")
