"""Each flavour from end to end on the sample crawl, and two of them at once on one home."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from e2e.running import adds_up, fonds
from e2e.workers import Workers
from fonds.config import load_settings
from fonds.model.rows import (
    CdxRow,
    EntryRow,
    FileMetaRow,
    PdfMetaRow,
    StoryMetaRow,
)
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.pipelines.flavours.stages import CAPTURED
from fonds.ports import Stores
from fonds.wiring.stores import close_stores, open_stores
from sample import write_sample

pytestmark = pytest.mark.xdist_group("flavours")

DRAIN_MAX_S = 180.0


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    write_sample(folder)
    return folder


def opened(home: Path) -> Iterator[Stores]:
    stores = open_stores(home, load_settings(home, {}))
    try:
        yield stores
    finally:
        close_stores(stores)


def state(home: Path) -> dict[str, int]:
    """What there is, in numbers."""
    (found,) = (_counted(stores) for stores in opened(home))
    return found


def _counted(stores: Stores) -> dict[str, int]:
    records = stores.records
    files = {row.sha1hex: row.mimetype for row in records.find(FileMetaRow)}
    return {
        "pdf files": sum(mime == "application/pdf" for mime in files.values()),
        "pages": sum(mime != "application/pdf" for mime in files.values()),
        "pdfs read": records.count(PdfMetaRow)[()],
        "stories": records.count(StoryMetaRow)[()],
        "in our WARCs": sum(row.warc_path.startswith("fonds-") for row in records.find(CdxRow)),
        "indexed": stores.index.count(),
    }


@dataclass(frozen=True)
class Taken:
    """What one flavour said of the crawl, and what it left in a home of its own."""

    said: dict[str, Any]
    audited: dict[str, Any]
    has: dict[str, int]


@pytest.fixture(scope="module")
def taken(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Taken]:
    """Take the crawl in with a flavour, once for all tests that ask for it."""

    @cache
    def take(name: str) -> Taken:
        home = tmp_path_factory.mktemp(name) / "home"
        ran = fonds(home, "ingest", "--json", "--pipeline", name, crawl)
        assert ran.code in (0, 1), ran.err
        assert adds_up(ran.last)
        audit = fonds(home, "audit", "--json")
        assert audit.code == 0, audit.out
        return Taken(ran.last, audit.last, state(home))

    return take


OF_CAPTURES = [name for name, make in PIPELINES.items() if make(()).entry == CAPTURED]


@pytest.mark.parametrize("name", OF_CAPTURES)
def test_a_flavour_keeps_what_it_says_and_its_books_balance(
    name: str, taken: Callable[[str], Taken]
) -> None:
    said, has, whole = taken(name).said, taken(name).has, taken("library").has
    assert (said["pending"], said["in"]) == (0, 125)
    assert "internal-error" not in said["quarantined"]
    assert set(taken(name).audited["steps"]) == {name, "library"}
    not_wanted = said["dropped"].get("not-wanted", 0)
    if name == "library":
        assert min(has.values()) > 0
        assert not_wanted == 0
    elif name == "pdf-only":
        assert (has["pages"], has["stories"]) == (0, 0)
        assert (has["pdf files"], has["pdfs read"]) == (whole["pdf files"], whole["pdfs read"])
        assert has["indexed"] == whole["indexed"] - whole["stories"]
        assert 0 < has["in our WARCs"] < whole["in our WARCs"]
        assert not_wanted >= whole["pages"]
    elif name == "stories-only":
        assert (has["pdf files"], has["pdfs read"]) == (0, 0)
        assert (has["pages"], has["stories"]) == (whole["pages"], whole["stories"])
        assert not_wanted >= whole["pdf files"]
    elif name == "warc":
        assert (has["pdf files"], has["pdfs read"]) == (0, 0)
        assert (has["pages"], has["stories"]) == (whole["pages"], whole["stories"])
        assert has["in our WARCs"] > taken("stories-only").has["in our WARCs"]
    elif name == "archive":
        # No metadata of stories lie beside the pages of this crawl.
        assert (has["pdfs read"], has["stories"], has["indexed"]) == (0, 0, 0)
        assert (has["pages"], has["in our WARCs"]) == (whole["pages"], 0)
        assert said["dropped"]["no-metadata"] == has["pages"]
    elif name == "archive-only":
        assert (has["pdfs read"], has["stories"], has["indexed"]) == (0, 0, 0)
        assert has["in our WARCs"] == whole["in our WARCs"]
        assert (has["pages"], has["pdf files"]) == (whole["pages"], whole["pdf files"])
    else:
        assert has == {**whole, "in our WARCs": 0}


def test_two_at_once_on_one_home_do_not_feed_or_starve_each_other(home: Path, crawl: Path) -> None:
    """One reads everything, the other only archives; both get the same crawl."""
    for name in ("library", "archive-only"):
        ran = fonds(home, "ingest", "--enter-only", "--json", "--pipeline", name, crawl)
        assert (ran.code, ran.last["entered"]) == (0, 70), ran.err
    workers = Workers(home)
    steps = {name: [stage.name for stage in make(()).stages] for name, make in PIPELINES.items()}
    for name in ("library", "archive-only"):
        workers.running[(name,)] = workers.spawn(*steps[name], "--pipeline", name)
    try:
        _drain(home)
    finally:
        assert set(workers.stop()) == {0}
    audit = fonds(home, "audit", "--json")
    assert audit.code == 0, audit.out
    of_each: dict[str, Any] = audit.last["steps"]
    assert set(of_each) == {"library", "archive-only"}
    assert of_each["library"]["identify"] == of_each["archive-only"]["identify"]
    for stores in opened(home):
        counts = stores.records.count(EntryRow, ("pipeline", "outcome"))
        assert counts["archive-only", "quarantined"] < counts["library", "quarantined"]
        kept = {counts[name, "done"] + counts.get((name, "quarantined"), 0) for name in of_each}
        assert max(kept) - min(kept) <= counts["library", "quarantined"]
        bodies = [row for row in stores.records.find(CdxRow) if row.mimetype != "warc/revisit"]
        # Both may have had the same body in hand at once: it is then in a file of each.
        written = Counter((row.capture_id, row.sha1hex) for row in bodies)
        assert max(written.values()) <= len(of_each)


def _drain(home: Path) -> None:
    deadline = time.monotonic() + DRAIN_MAX_S
    while (ran := fonds(home, "status", "--json")).code != 0 or ran.last["pending"]:
        assert time.monotonic() < deadline, ran.out + ran.err
        time.sleep(0.5)


def test_pipelines_are_listed_and_drawn(home: Path) -> None:
    assert [line["name"] for line in fonds(home, "pipelines", "--json").lines] == [*PIPELINES]
    assert "extract_pdf" in fonds(home, "pipelines", "library").out
    assert fonds(home, "pipelines", "library", "--svg").out.startswith("<svg")
    ran = fonds(home, "pipelines", "librry")
    assert (ran.code, "Did you mean 'library'?" in ran.err) == (2, True)
    assert fonds(home, "pipelines", "--svg").code == 2
