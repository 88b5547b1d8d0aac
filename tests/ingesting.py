"""Ingest files with the real intake and steps, in this process and in a fixed order.

Two things differ from `fonds ingest`: tests set the clock, and bodies are read in this process
unless isolated readers are requested.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from unittest.mock import patch

from fonds.config import Settings
from fonds.extract.page import parse_page
from fonds.extract.page_extraction import EXTRACTOR
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.ingest.sources.link_sample import LinkSample
from fonds.isolation.pool import ChildPool
from fonds.model.pdf import PdfExtraction
from fonds.papers.bibliography.jats import (
    read_jats_bytes,
)
from fonds.papers.bibliography.tei import read_tei_bytes
from fonds.pipelines.runtime.intake import IntakeCounts
from fonds.pipelines.runtime.worker_threads import WorkerThreads
from fonds.ports import Stores
from fonds.wiring.flavours import list_readers
from fonds.wiring.links import open_link_lists
from fonds.wiring.pipelines import create_intake, create_path_source, create_threads
from fonds.wiring.readers import Readers, build_pdf_limits, name_pdf_extractor, open_readers
from home_rows import NOW


def ingest(
    stores: Stores,
    home: Path,
    paths: Sequence[Path],
    settings: Settings | None = None,
    *,
    stages: Collection[str] | None = None,
    isolated: bool = False,
    at: datetime = NOW,
) -> None:
    """Enter files and process them completely.

    Messages of stages that are not in `stages` stay unprocessed. One thread runs all stages in
    turn, so that the same files always have the same outcomes. `settings` are the settings of the
    open stores; None means the defaults. The clock starts at `at` and advances by a millisecond on
    each reading.
    """
    effective_settings = settings or Settings()
    with _set_clock(at), _open_readers(home, effective_settings, isolated) as readers:
        create_intake(stores, effective_settings, lambda: False).run(
            create_path_source(paths, home, effective_settings), IntakeCounts()
        )
        _process_all(create_threads(stores, readers, effective_settings, stages=stages))
    stores.archive.finish()


def enter_links(stores: Stores, home: Path, path: Path, settings: Settings) -> None:
    """Enter the links of a list without fetching them."""
    stores.queue.declare(list_readers(settings))
    with _set_clock(NOW):
        source = open_link_lists([str(path)], home, settings, stores.records, LinkSample())
        create_intake(stores, settings, lambda: False).run(source, IntakeCounts())


def stamp(at: datetime) -> str:
    """Format a time as in the header of a WARC record."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


@contextmanager
def _set_clock(at: datetime) -> Iterator[None]:
    ticks = count()

    def now() -> datetime:
        return at + timedelta(milliseconds=next(ticks))

    with (
        patch("fonds.wiring.stores.get_utc_now", now),
        patch("fonds.wiring.steps.get_utc_now", now),
        patch("fonds.wiring.pipelines.get_utc_now", now),
    ):
        yield


def _process_all(threads: WorkerThreads) -> None:
    # While one stage runs, nothing is sent to another, so no batch waits for more.
    stages = [replace(stage, stage=replace(stage.stage, linger_s=0.0)) for stage in threads.stages]
    loops = [threads.make_loop(bound) for bound in stages]
    is_pending = True
    while is_pending:
        while sum([loop.run_once(0.0) for loop in loops]):
            pass
        threads.handover.flush()
        # Check the depths last: with a broker, each one takes several requests.
        depths = (threads.queue.get_depth(bound.subscription) for bound in threads.stages)
        is_pending = any(depth.pending for depth in depths)
    threads.handover.close()


@contextmanager
def _open_readers(home: Path, settings: Settings, isolated: bool) -> Iterator[Readers]:
    readers = open_readers(home / "tmp", settings) if isolated else _create_local_readers(settings)
    try:
        yield readers
    finally:
        readers.close()


def _create_local_readers(settings: Settings) -> Readers:
    """Create readers that run in this process; the tests generate all input."""
    limits = build_pdf_limits(settings)

    def extract(body: bytes) -> PdfExtraction:
        return extract_pdf_bytes(body, limits)

    return Readers(
        ChildPool(1),
        extract=extract,
        salvage=extract,
        parse=parse_page,
        read_tei=read_tei_bytes,
        read_jats=read_jats_bytes,
        pdf_extractor=name_pdf_extractor(settings),
        page_extractor=EXTRACTOR,
    )
