"""Hostile PDFs, ours and the corpus's: each costs at most its limits, and nobody else anything."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from depth import IS_NIGHTLY
from fixtures import hostile
from fixtures.mutations import DAMAGES, Mutation, mutations, own_bases
from fixtures.pdfs import text_pdf
from fonds.config import Settings
from fonds.model.message import PIPELINE, Message
from fonds.model.pdf import PdfStatus, PdfText
from fonds.queues.messages.envelope import decode, encode
from hostile_reading import CHILDREN, MemoryWatch, Outcome, longest_s, open_pdf_readers, read_all

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
GOLD = CORPUS / "gold" / "pdf.jsonl"
COUNT = 200 if IS_NIGHTLY else 40
"""On every push at least one of each kind."""
SEED = 1
MEMORY_MAX_BYTES = 1_500_000_000
LATE_MAX_S = 60.0
"""On a machine that is busy; what has no limit takes hours."""
GOOD = "good"


def say(line: str) -> None:
    sys.stdout.write(f"\n{line}")


def check(files: dict[str, bytes], settings: Settings, folder: Path) -> list[Outcome]:
    """Read `files` and sound ones between them, and look at what must hold for any files at all."""
    mixed: dict[str, bytes] = {}
    for number, (name, data) in enumerate(files.items()):
        mixed[name] = data
        if number % 10 == 0:
            mixed[f"{GOOD}-{number}"] = text_pdf((f"sound words {number}",))
    spool = folder / "spool"
    with MemoryWatch() as watch, open_pdf_readers(spool, settings) as readers:
        found = read_all(readers, mixed.items(), folder / "files")
    tell(found, watch.peak_bytes)
    assert [one.name for one in found] == list(mixed)
    assert watch.peak_bytes < MEMORY_MAX_BYTES
    check_time(found, settings)
    for one in found:
        check_outcome(one)
    assert list(spool.iterdir()) == []
    return found


def check_time(found: list[Outcome], settings: Settings) -> None:
    limit_s = longest_s(settings) + LATE_MAX_S
    assert {one.name: one.took_s for one in found if one.took_s > limit_s} == {}


def check_outcome(one: Outcome) -> None:
    status = one.text.status
    assert status is not PdfStatus.ERROR_INTERNAL, f"{one.name}: {one.text.error_msg}"
    assert status is not PdfStatus.ERROR_SOURCE, f"{one.name}: {one.text.error_msg}"
    assert status.reason is None or one.text.error_msg, one.name
    assert decode(Message("", encode(one.text), headers={PIPELINE: "x"}), PdfText).status is status
    if one.name.startswith(f"{GOOD}-"):
        number = one.name.removeprefix(f"{GOOD}-")
        assert (status, one.text.text) == (PdfStatus.SUCCESS, f"sound words {number}")


def tell(found: list[Outcome], peak_bytes: int) -> None:
    say(f"{len(found)} PDFs, at most {peak_bytes / 1e6:.0f} MB for all processes together")
    for status, count in Counter(one.text.status.value for one in found).most_common():
        say(f"  {status:16}{count:6}")
    say("the longest:")
    for one in sorted(found, key=lambda one: one.took_s, reverse=True)[:10]:
        say(f"  {one.took_s:6.1f} s {one.text.status.value:14} {one.name}")
    for one in found:
        if one.text.status in (PdfStatus.ERROR_CRASH, PdfStatus.ERROR_INTERNAL):
            say(f"  {one.text.status.value} {one.name}: {(one.text.error_msg or '')[-400:]}")


@pytest.fixture(scope="module")
def made() -> list[Mutation]:
    return list(mutations(COUNT, seed=SEED))


def test_the_same_seed_makes_the_same_files_and_no_two_alike(made: list[Mutation]) -> None:
    own_bases.cache_clear()
    assert list(mutations(30, seed=SEED)) == made[:30]
    assert len({one.data for one in made}) == COUNT
    assert {one.kind for one in made} == {*DAMAGES, *hostile.KINDS}
    assert next(mutations(1, seed=SEED + 1)).data != made[0].data


def test_variations_of_other_peoples_bytes_are_of_these_bytes() -> None:
    ours = [text_pdf(("only this",))]
    cut = next(one for one in mutations(30, bases=ours) if one.kind == "ends-early")
    assert ours[0].startswith(cut.data)


def test_hostile_pdfs_cost_their_limits_and_nobody_anything(
    made: list[Mutation], tmp_path: Path
) -> None:
    settings = Settings().replace_values(work_children=CHILDREN, pdf_timeout_s=3.0)
    check({one.name: one.data for one in made}, settings, tmp_path)


@pytest.mark.nightly
@pytest.mark.skipif(not GOLD.exists(), reason=f"the corpus is not at {CORPUS}")
def test_every_nasty_pdf_of_the_corpus_costs_its_limits_and_nobody_anything(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in GOLD.read_text().splitlines()]
    paths = [row["path"] for row in rows if not row["ordinary"]]
    files = {path: (CORPUS / path).read_bytes() for path in paths if (CORPUS / path).exists()}
    assert len(files) > 1_000
    settings = Settings().replace_values(work_children=CHILDREN, pdf_timeout_s=10.0)
    check(files, settings, tmp_path)
