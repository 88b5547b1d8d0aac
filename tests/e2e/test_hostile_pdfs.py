"""Hostile PDFs, generated or from the corpus, stay within their limits and do not affect other files."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from depth import IS_NIGHTLY
from fixtures import hostile
from fixtures.mutations import DAMAGES, Mutation, build_bases, generate_mutations
from fixtures.pdfs import text_pdf
from fonds.config import Settings
from fonds.model.message import PIPELINE, Message
from fonds.model.pdf import PdfStatus, PdfText
from fonds.queues.messages.envelope import decode, encode
from hostile_reading import CHILDREN, MemoryWatch, Outcome, longest_s, open_pdf_readers, read_all

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
GOLD = CORPUS / "gold" / "pdf.jsonl"
COUNT = 200 if IS_NIGHTLY else 40
"""At least one of each kind runs on every push."""
SEED = 1
MEMORY_MAX_BYTES = 1_500_000_000
LATE_MAX_S = 60.0
"""Allowance for a busy machine. Without a limit, a file takes hours."""
GOOD = "good"


def print_line(line: str) -> None:
    sys.stdout.write(f"\n{line}")


def check_files(files: dict[str, bytes], settings: Settings, folder: Path) -> list[Outcome]:
    """Read `files` among sound ones, and check what must hold for any files."""
    mixed: dict[str, bytes] = {}
    for number, (name, data) in enumerate(files.items()):
        mixed[name] = data
        if number % 10 == 0:
            mixed[f"{GOOD}-{number}"] = text_pdf((f"sound words {number}",))
    spool = folder / "spool"
    with MemoryWatch() as watch, open_pdf_readers(spool, settings) as readers:
        outcomes = read_all(readers, mixed.items(), folder / "files")
    print_report(outcomes, watch.peak_bytes)
    assert [outcome.name for outcome in outcomes] == list(mixed)
    assert watch.peak_bytes < MEMORY_MAX_BYTES
    check_time(outcomes, settings)
    for outcome in outcomes:
        check_outcome(outcome)
    assert list(spool.iterdir()) == []
    return outcomes


def check_time(outcomes: list[Outcome], settings: Settings) -> None:
    limit_s = longest_s(settings) + LATE_MAX_S
    slow_files = {outcome.name: outcome.took_s for outcome in outcomes if outcome.took_s > limit_s}
    assert slow_files == {}


def check_outcome(outcome: Outcome) -> None:
    status = outcome.text.status
    assert status is not PdfStatus.ERROR_INTERNAL, f"{outcome.name}: {outcome.text.error_msg}"
    assert status is not PdfStatus.ERROR_SOURCE, f"{outcome.name}: {outcome.text.error_msg}"
    assert status.reason is None or outcome.text.error_msg, outcome.name
    assert (
        decode(Message("", encode(outcome.text), headers={PIPELINE: "x"}), PdfText).status is status
    )
    if outcome.name.startswith(f"{GOOD}-"):
        number = outcome.name.removeprefix(f"{GOOD}-")
        assert (status, outcome.text.text) == (PdfStatus.SUCCESS, f"sound words {number}")


def print_report(outcomes: list[Outcome], peak_bytes: int) -> None:
    print_line(f"{len(outcomes)} PDFs, at most {peak_bytes / 1e6:.0f} MB for all processes")
    for status, count in Counter(outcome.text.status.value for outcome in outcomes).most_common():
        print_line(f"  {status:16}{count:6}")
    print_line("slowest files:")
    for outcome in sorted(outcomes, key=lambda outcome: outcome.took_s, reverse=True)[:10]:
        print_line(f"  {outcome.took_s:6.1f} s {outcome.text.status.value:14} {outcome.name}")
    for outcome in outcomes:
        text = outcome.text
        if text.status in (PdfStatus.ERROR_CRASH, PdfStatus.ERROR_INTERNAL):
            print_line(f"  {text.status.value} {outcome.name}: {(text.error_msg or '')[-400:]}")


@pytest.fixture(scope="module")
def mutated_pdfs() -> list[Mutation]:
    return list(generate_mutations(COUNT, seed=SEED))


def test_a_seed_repeats_the_same_distinct_files(mutated_pdfs: list[Mutation]) -> None:
    build_bases.cache_clear()
    assert list(generate_mutations(30, seed=SEED)) == mutated_pdfs[:30]
    assert len({mutation.data for mutation in mutated_pdfs}) == COUNT
    assert {mutation.kind for mutation in mutated_pdfs} == {*DAMAGES, *hostile.KINDS}
    assert next(generate_mutations(1, seed=SEED + 1)).data != mutated_pdfs[0].data


def test_mutations_of_given_bases_use_only_their_bytes() -> None:
    bases = [text_pdf(("only this",))]
    truncated = next(
        mutation
        for mutation in generate_mutations(30, bases=bases)
        if mutation.kind == "ends-early"
    )
    assert bases[0].startswith(truncated.data)


def test_hostile_pdfs_stay_within_limits_and_spare_other_files(
    mutated_pdfs: list[Mutation], tmp_path: Path
) -> None:
    settings = Settings().replace_values(work_children=CHILDREN, pdf_timeout_s=3.0)
    check_files({mutation.name: mutation.data for mutation in mutated_pdfs}, settings, tmp_path)


@pytest.mark.nightly
@pytest.mark.skipif(not GOLD.exists(), reason=f"the corpus is not at {CORPUS}")
def test_hostile_pdfs_of_the_corpus_stay_within_limits(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in GOLD.read_text().splitlines()]
    paths = [row["path"] for row in rows if not row["ordinary"]]
    files = {path: (CORPUS / path).read_bytes() for path in paths if (CORPUS / path).exists()}
    assert len(files) > 1_000
    settings = Settings().replace_values(work_children=CHILDREN, pdf_timeout_s=10.0)
    check_files(files, settings, tmp_path)
