"""Extraction in bulk over the settings of a home: its WARCs, its steps, its job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from fonds.bulk.extraction.carrying import Reading
from fonds.bulk.extraction.entering import entering_job
from fonds.bulk.extraction.job import extraction_job
from fonds.config import PORTS, Settings
from fonds.model.errors import ConfigurationError
from fonds.model.paper import JATS_VERSION
from fonds.model.rows import InputRow
from fonds.ports import Job
from fonds.sources.paths import PathSource, kind_of
from fonds.sources.remote_paths import REMOTE, RemotePaths
from fonds.wiring.backends import open_archive
from fonds.wiring.bulk.working import open_pipeline
from fonds.wiring.pipelines import discard_file, input_file, named_source
from fonds.wiring.readers import cores, extractors, open_readers
from fonds.wiring.steps import reading_steps


@dataclass(frozen=True, slots=True)
class Warcs:
    """The WARCs and ARCs that names mean, what was found there that is none, and the source that reads them.

    `urls` are those of WARCs that were fetched, by the paths where they lie now.
    """

    rows: tuple[InputRow, ...]
    others: tuple[str, ...]
    source: PathSource | RemotePaths
    urls: Mapping[str, str]


def find_warcs(
    names: Sequence[str], home: Path, settings: Settings, *, keeps_files: bool = False
) -> Warcs:
    """Return WARC and ARC files, recognised by their content, each once. What lies at URLs and in S3 is
    fetched to the home's inbox; `keeps_files` as for `named_source`.

    Raises ConfigurationError for a file that cannot be read.
    """
    source = named_source(names, home, settings, keeps_files=keeps_files)
    found: dict[str, InputRow] = {}
    urls: dict[str, str] = {}
    others = []
    for row in source.inputs():
        if row.kind in ("missing", "unreadable"):
            raise ConfigurationError(f"{row.path}: {row.error or 'no such file or folder'}")
        path = input_file(source, row)
        if row.kind == "warc" or (row.kind == REMOTE and kind_of(path) == "warc"):
            found.setdefault(row.input_id, row)
            if str(path) != row.path:
                urls[str(path)] = row.path
        else:
            others.append(row.path)
            discard_file(source, row.path, path)
    return Warcs(tuple(found.values()), tuple(others), source, urls)


def parquet_job(warcs: Warcs, folder: Path, home: Path, settings: Settings) -> Job:
    """The extraction of these WARCs into a folder. Raises ConfigurationError for too many."""
    limits = (settings.pdf.max_bytes, settings.page.max_bytes)
    try:
        return extraction_job(
            warcs.rows,
            warcs.source,
            partial(open_reading, home, settings),
            folder,
            repr((_readers(settings), limits, str(folder))),
            warcs.urls,
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
        warcs.source,
        partial(open_pipeline, home, each),
        sha256(f"{told}{settings.pipeline}".encode("utf-8", "replace")).hexdigest()[:16],
    )


def open_reading(home: Path, settings: Settings) -> Reading:
    """The reading steps, opened where they are carried out; bodies lie in the home's `tmp` for as long."""
    readers = open_readers(home / "tmp", settings)
    steps = reading_steps(open_archive(home, settings), readers, settings)
    return Reading(steps, readers.close)
