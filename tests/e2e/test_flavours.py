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

DRAIN_MAX_S = 600.0


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    write_sample(folder)
    return folder


def iter_stores(home: Path) -> Iterator[Stores]:
    stores = open_stores(home, load_settings(home, {}))
    try:
        yield stores
    finally:
        close_stores(stores)


def state(home: Path) -> dict[str, int]:
    """Count the files, rows and documents of a home."""
    (counts,) = (_counted(stores) for stores in iter_stores(home))
    return counts


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
class FlavourRun:
    """Results of one flavour for the crawl: summary, audit, and counts of its home."""

    summary: dict[str, Any]
    audited: dict[str, Any]
    counts: dict[str, int]


@pytest.fixture(scope="module")
def run_flavour(
    crawl: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], FlavourRun]:
    """Return a function that ingests the crawl with a flavour, once per flavour."""

    @cache
    def ingest(name: str) -> FlavourRun:
        home = tmp_path_factory.mktemp(name) / "home"
        result = fonds(home, "ingest", "--json", "--pipeline", name, crawl)
        assert result.code in (0, 1), result.err
        assert adds_up(result.last)
        audit = fonds(home, "audit", "--json")
        assert audit.code == 0, audit.out
        return FlavourRun(result.last, audit.last, state(home))

    return ingest


CAPTURE_FLAVOURS = [name for name, make in PIPELINES.items() if make(()).entry == CAPTURED]


@pytest.mark.parametrize("name", CAPTURE_FLAVOURS)
def test_a_flavour_stores_its_kinds_and_balances(
    name: str, run_flavour: Callable[[str], FlavourRun]
) -> None:
    summary, counts, library_counts = (
        run_flavour(name).summary,
        run_flavour(name).counts,
        run_flavour("library").counts,
    )
    assert (summary["pending"], summary["in"]) == (0, 125)
    assert "internal-error" not in summary["quarantined"]
    assert set(run_flavour(name).audited["steps"]) == {name, "library"}
    not_wanted = summary["dropped"].get("not-wanted", 0)
    if name == "library":
        assert min(counts.values()) > 0
        assert not_wanted == 0
    elif name == "pdf-only":
        assert (counts["pages"], counts["stories"]) == (0, 0)
        assert (counts["pdf files"], counts["pdfs read"]) == (
            library_counts["pdf files"],
            library_counts["pdfs read"],
        )
        assert counts["indexed"] == library_counts["indexed"] - library_counts["stories"]
        assert 0 < counts["in our WARCs"] < library_counts["in our WARCs"]
        assert not_wanted >= library_counts["pages"]
    elif name == "stories-only":
        assert (counts["pdf files"], counts["pdfs read"]) == (0, 0)
        assert (counts["pages"], counts["stories"]) == (
            library_counts["pages"],
            library_counts["stories"],
        )
        assert not_wanted >= library_counts["pdf files"]
    elif name == "warc":
        assert (counts["pdf files"], counts["pdfs read"]) == (0, 0)
        assert (counts["pages"], counts["stories"]) == (
            library_counts["pages"],
            library_counts["stories"],
        )
        assert counts["in our WARCs"] > run_flavour("stories-only").counts["in our WARCs"]
    elif name == "archive":
        # The pages of this crawl have no story metadata.
        assert (counts["pdfs read"], counts["stories"], counts["indexed"]) == (0, 0, 0)
        assert (counts["pages"], counts["in our WARCs"]) == (library_counts["pages"], 0)
        assert summary["dropped"]["no-metadata"] == counts["pages"]
    elif name == "archive-only":
        assert (counts["pdfs read"], counts["stories"], counts["indexed"]) == (0, 0, 0)
        assert counts["in our WARCs"] == library_counts["in our WARCs"]
        assert (counts["pages"], counts["pdf files"]) == (
            library_counts["pages"],
            library_counts["pdf files"],
        )
    else:
        assert counts == {**library_counts, "in our WARCs": 0}


def test_two_flavours_at_once_on_one_home_stay_independent(home: Path, crawl: Path) -> None:
    """One reads everything, the other only archives; both get the same crawl."""
    for name in ("library", "archive-only"):
        result = fonds(home, "ingest", "--enter-only", "--json", "--pipeline", name, crawl)
        assert (result.code, result.last["entered"]) == (0, 70), result.err
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
    steps_by_flavour: dict[str, Any] = audit.last["steps"]
    assert set(steps_by_flavour) == {"library", "archive-only"}
    assert steps_by_flavour["library"]["identify"] == steps_by_flavour["archive-only"]["identify"]
    for stores in iter_stores(home):
        counts = stores.records.count(EntryRow, ("pipeline", "outcome"))
        assert counts["archive-only", "quarantined"] < counts["library", "quarantined"]
        settled_counts = {
            counts[name, "done"] + counts.get((name, "quarantined"), 0) for name in steps_by_flavour
        }
        assert max(settled_counts) - min(settled_counts) <= counts["library", "quarantined"]
        bodies = [row for row in stores.records.find(CdxRow) if row.mimetype != "warc/revisit"]
        # Both may process the same body at once, and each then writes it.
        body_counts = Counter((row.capture_id, row.sha1hex) for row in bodies)
        assert max(body_counts.values()) <= len(steps_by_flavour)


def _drain(home: Path) -> None:
    deadline = time.monotonic() + DRAIN_MAX_S
    while (result := fonds(home, "status", "--json")).code != 0 or result.last["pending"]:
        assert time.monotonic() < deadline, result.out + result.err
        time.sleep(0.5)


def test_pipelines_are_listed_and_drawn(home: Path) -> None:
    assert [line["name"] for line in fonds(home, "pipelines", "--json").lines] == [*PIPELINES]
    assert "extract_pdf" in fonds(home, "pipelines", "library").out
    assert fonds(home, "pipelines", "library", "--svg").out.startswith("<svg")
    result = fonds(home, "pipelines", "librry")
    assert (result.code, "Did you mean 'library'?" in result.err) == (2, True)
    assert fonds(home, "pipelines", "--svg").code == 2
