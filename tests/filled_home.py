"""A home with one of everything that the pages show, ingested by the real steps from
`filled_crawl`."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, wraps
from hashlib import sha1
from pathlib import Path
from typing import TypeVar

from empty_records import copy_empty_records
from filled_crawl import (
    FRONT_URL,
    LOST_PDF,
    MISSING_URL,
    STORIES,
    broken_pdfs,
    report_pdfs,
    story_pages,
    waiting_pdfs,
    write_crawl,
)
from fonds.config import Settings
from fonds.ports import Stores
from fonds.urls.normalization import compute_story_id
from fonds.wiring.stores import close_stores, open_stores
from home_rows import NOW
from ingesting import enter_links, ingest

ValueT = TypeVar("ValueT")
CRAWL, HASTE_S = "crawl", 0.05
"""Folder of the input below the home, and a timeout shorter than parsing the slow page."""
LATER = NOW + timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class FilledHome:
    """SHA-1s of the files in a home, by purpose. `crawl` is the folder of the input."""

    stories: tuple[str, ...] = ()
    pdfs: tuple[str, ...] = ()
    hostile: str = ""
    long: str = ""
    broken: str = ""
    lost: str = ""
    pending: str = ""
    crawl: Path = Path()
    twice_url: str = FRONT_URL
    refused_url: str = MISSING_URL.format(0)

    @property
    def story_id(self) -> str:
        """The id of the first story."""
        return compute_story_id(story_pages()[0][0])

    @property
    def stored_count(self) -> int:
        """Number of stored captures."""
        return len(self.stories) + len(self.pdfs)

    @property
    def searchable(self) -> int:
        """Number of documents; the two front pages are versions of one story."""
        return self.stored_count - 1


@contextmanager
def open_home(home: Path, settings: Settings | None = None) -> Iterator[Stores]:
    """Open the stores of a home and close them at the end.

    Without `settings`, the stores are the embedded ones.
    """
    if settings is None:
        home.mkdir(parents=True, exist_ok=True)
        copy_empty_records(home / "records.sqlite")
    stores = open_stores(home, settings or Settings())
    try:
        yield stores
    finally:
        close_stores(stores)


def build_once(build: Callable[[Path], ValueT]) -> Callable[[Path], ValueT]:
    """Decorate a function that builds a home: build once per process, then copy.

    The copy is made before its stores are opened. Input below `CRAWL` is not copied; it stays in
    the first home.
    """

    @cache
    def build_template() -> tuple[Path, ValueT]:
        home = _create_temporary_folder("fonds-made-")
        return home, build(home)

    @wraps(build)
    def copy(home: Path) -> ValueT:
        template, content = build_template()
        shutil.copytree(template, home, ignore=shutil.ignore_patterns(CRAWL), dirs_exist_ok=True)
        return content

    return copy


@build_once
def fill_home(home: Path) -> FilledHome:
    """Put one of everything into the embedded stores of a home."""
    with open_home(home) as stores:
        return fill(stores, home, Settings())


def fill(stores: Stores, home: Path, settings: Settings) -> FilledHome:
    """Put one of everything into empty stores that were opened with these settings."""
    crawl = write_crawl(home / CRAWL)
    copying_settings = settings.replace_values(warc_copy_bodies=True, work_children=1)
    impatient_settings = copying_settings.replace_values(page_timeout_s=HASTE_S)
    first_stages = ("identify", "persist_file")
    ingest(stores, home, [crawl.daily, crawl.damaged, crawl.missing], copying_settings)
    ingest(stores, home, [crawl.reports], copying_settings.replace_values(collection="reports"))
    ingest(stores, home, [crawl.slow], impatient_settings, isolated=True)
    # A file that is deleted before it is processed, and then input that stays unprocessed.
    ingest(stores, home, [crawl.lost], settings, stages=first_stages)
    crawl.lost.unlink()
    ingest(stores, home, [], settings, at=LATER)
    ingest(stores, home, [crawl.index, crawl.loose], settings, stages=first_stages, at=LATER)
    enter_links(stores, home, crawl.links, settings.replace_values(pipeline="news"))
    stories = tuple(sha1(body).hexdigest() for _, _, body in story_pages())
    pdfs = tuple(sha1(body).hexdigest() for body in report_pdfs())
    return FilledHome(
        stories=stories,
        pdfs=pdfs,
        hostile=stories[STORIES],
        long=pdfs[-1],
        broken=sha1(broken_pdfs()[-1]).hexdigest(),
        lost=sha1(LOST_PDF).hexdigest(),
        pending=sha1(waiting_pdfs()[-1]).hexdigest(),
        crawl=home / CRAWL,
    )


def _create_temporary_folder(prefix: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
