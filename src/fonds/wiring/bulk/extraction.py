"""Extraction in bulk over the settings of a home: its WARCs, its steps, its job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from fonds.bibliography.paper import JATS_VERSION
from fonds.bulk.extraction.carrying import Reading
from fonds.bulk.extraction.entering import entering_job
from fonds.bulk.extraction.job import extraction_job
from fonds.config import PORTS, Settings
from fonds.model.errors import ConfigurationError
from fonds.model.rows import InputRow
from fonds.ports import Job
from fonds.sources.paths import PathSource
from fonds.wiring.backends import open_archive
from fonds.wiring.bulk.working import open_pipeline
from fonds.wiring.readers import cores, extractors, open_readers
from fonds.wiring.steps import reading_steps


@dataclass(frozen=True, slots=True)
class Warcs:
    """The WARCs and ARCs below some paths, and what was found there that is none."""

    rows: tuple[InputRow, ...]
    others: tuple[str, ...]


def find_warcs(paths: Sequence[Path], home: Path) -> Warcs:
    """WARC and ARC files, told by their content, each once.

    Raises ConfigurationError for a file that cannot be read.
    """
    found: dict[str, InputRow] = {}
    others = []
    for row in PathSource(paths, home, "", "").inputs():
        if row.kind in ("missing", "unreadable"):
            raise ConfigurationError(f"{row.path}: {row.error or 'no such file or folder'}")
        if row.kind == "warc":
            found.setdefault(row.input_id, row)
        else:
            others.append(row.path)
    return Warcs(tuple(found.values()), tuple(others))


def parquet_job(warcs: Warcs, folder: Path, home: Path, settings: Settings) -> Job:
    """The extraction of these WARCs into a folder. Raises ConfigurationError for too many."""
    limits = (settings.pdf.max_bytes, settings.page.max_bytes)
    try:
        return extraction_job(
            warcs.rows,
            PathSource((), home, settings.collection, ""),
            partial(open_reading, home, settings),
            folder,
            repr((_readers(settings), limits, str(folder))),
        )
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _readers(settings: Settings) -> tuple[object, ...]:
    """What reads: another one reads anew what was read already."""
    return extractors(settings), JATS_VERSION


def stores_job(warcs: Warcs, home: Path, settings: Settings, workers: int) -> Job:
    """The extraction of these WARCs into the stores of a home by so many processes of this machine.

    The same WARCs, extractors and stores go on where they were left.
    """
    names = [getattr(settings, port) for port in PORTS]
    told = repr(([one.input_id for one in warcs.rows], _readers(settings), names))
    each = settings.changed(work_children=max(1, (settings.work.children or cores()) // workers))
    return entering_job(
        warcs.rows,
        PathSource((), home, settings.collection, ""),
        partial(open_pipeline, home, each),
        sha256(f"{told}{settings.pipeline}".encode("utf-8", "replace")).hexdigest()[:16],
    )


def open_reading(home: Path, settings: Settings) -> Reading:
    """The reading steps, opened where they are carried out; bodies lie in the home's `tmp` for as long."""
    readers = open_readers(home / "tmp", settings)
    steps = reading_steps(open_archive(home, settings), readers, settings)
    return Reading(steps, readers.close)
