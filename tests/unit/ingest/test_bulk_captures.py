"""Backfill: which lines are kept, the best of captures, and that neither order nor repetition matters."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bulk_jobs import JOURNAL, captures_job, generate_cdx_lines, open_table, read_rows
from depth import examples
from fonds.archive.capture_merge import build_first_seen, merge
from fonds.archive.capture_rank import IndexedCapture, rank_capture
from fonds.archive.cdx import IndexReader
from fonds.bulk.local import LocalEngine
from fonds.bulk.tallies import ExampleCounts, sum_tallies
from fonds.ingest.bulk.capture_filter import CaptureFilter, find_refusal_reason, is_paper
from fonds.ingest.bulk.index_reader import iter_part_lines, iter_parts
from fonds.model.disposition import Reason
from fonds.stores.journal_table.cells import (
    Location,
    encode_first_seen,
    read_first_seen,
    read_location,
)
from fonds.stores.journal_table.keys import split_key

CORPUS = Path(__file__).parents[4] / "shared/corpus/papers/internetarchive+sandcrawler"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="needs ../shared/corpus")
KEPT = (Reason.HTTP_STATUS, Reason.UNSUPPORTED_TYPE)
# What the reference's mapper says of the 20 lines: success, skip (its type) or invalid (a field is `-`).
REFERENCE = ["success", "success", "skip", "success", "success", "skip", "invalid", *["skip"] * 6,
             "success", "skip", "success", "skip", "skip", "success", "skip"]  # fmt: skip


def backfilled(home: Path, lines: list[str], *, packed: bool = False) -> ExampleCounts:
    home.mkdir(exist_ok=True)
    path = home / f"lines.cdx{'.gz' if packed else ''}"
    data = "\n".join([*lines, ""]).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    engine = LocalEngine(home / "bulk", 1, 1, 5000)
    return sum_tallies(engine.run(captures_job(home, [path])))


def rows_left(home: Path) -> tuple[list[object], list[object]]:
    cells, rows = read_rows(home)
    return cells, [*rows]


@needs_corpus
def test_the_twenty_lines_of_the_corpus_come_to_what_the_reference_makes_of_them() -> None:
    """It knows no status: a redirect with the type of a PDF would be a success there. Its `invalid` line
    is of the scheme whois, without a status: no transfer of a file here either."""
    lines = (CORPUS / "example.cdx").read_text().splitlines()
    found = []
    for line in lines:
        parsed = IndexReader().parse(line)
        found.append(find_refusal_reason(parsed, CaptureFilter()))
    said = [
        "success" if one is None else "invalid" if " whois://" in line else "skip"
        for one, line in zip(found, lines, strict=True)
    ]
    assert said == REFERENCE
    assert {one for one in found if one is not None} == set(KEPT)


CASES = {
    "papers_domain_words": 4, "papers_edu_tilde": 6, "papers_url_doi": 2, "papers_url_words": 12,
}  # fmt: skip


@needs_corpus
@pytest.mark.parametrize("name", CASES)
def test_the_papers_filter_finds_what_its_cases_say(name: str) -> None:
    """By the SURT alone: some of the cases have digests that are no SHA-1, and are refused for that."""
    lines = (CORPUS / "pig" / f"{name}.cdx").read_text().splitlines()
    surts = [line.split(" ")[0] for line in lines if line.strip() and not line.startswith("#")]
    assert sum(map(is_paper, surts)) == CASES[name]


@pytest.mark.parametrize(
    ("surt", "paper"),
    [
        ("com,corp,edu,pitt,www)/~druzdzel/psfiles/ecai06.pdf", False),
        ("com,marshall)/a.pdf", False),
        ("fr,archives-ouvertes,hal)/hal-1/document", True),
        ("com,example)/articles-of-faith/x.pdf", False),
        ("com,example)/x?path=/10.1000/x", True),
        ("-", False),
    ],
)
def test_what_looks_like_a_paper(surt: str, paper: bool) -> None:
    assert is_paper(surt) is paper


def line(**changed: str) -> str:
    fields = {
        "surt": "org,example)/a", "dt": "20170706005950", "url": "http://example.org/a",
        "mime": "application/pdf", "status": "200", "digest": "MQHD36X5MNZPWFNMD5LFOYZSFGCHUN3V",
        "r": "-", "m": "-", "size": "5", "offset": "7", "name": "item/a.warc.gz",
    }  # fmt: skip
    return " ".join({**fields, **changed}.values())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (line(), None),
        (line(mime="('application/pdf'"), None),
        (line(url="ftp://example.org/a", status="-"), None),
        (line(url="ftp://example.org/a", status="226"), None),
        (line(mime="warc/revisit", status="-"), None),
        (line(status="-"), Reason.HTTP_STATUS),
        (line(status="301"), Reason.HTTP_STATUS),
        (line(mime="text/html"), Reason.UNSUPPORTED_TYPE),
        (line(mime="unk"), Reason.UNSUPPORTED_TYPE),
        (line(digest="-"), Reason.NO_DIGEST),
        (line(digest="sha-256:0e97"), Reason.NO_DIGEST),
        (line(digest="1" * 32), Reason.BAD_INDEX_LINE),
        (line(dt="2017"), Reason.BAD_INDEX_LINE),
        (line(status="abc"), Reason.BAD_INDEX_LINE),
        ("one two", Reason.BAD_INDEX_LINE),
        (" CDX N b a m s k r M S V g", Reason.NOT_A_CAPTURE),
        ("", Reason.NOT_A_CAPTURE),
        ("filedesc:a.arc 20170706005950", Reason.NOT_A_CAPTURE),
    ],
)
def test_every_line_that_is_not_kept_has_one_reason(text: str, reason: Reason | None) -> None:
    assert find_refusal_reason(IndexReader().parse(text), CaptureFilter()) is reason
    if reason is None:
        narrow = CaptureFilter(filter="papers")
        assert find_refusal_reason(IndexReader().parse(text), narrow) is Reason.NOT_WANTED


BEST_FIRST = [
    Location("s", "http://b/", "20190101000000", "item/a.warc.gz", 5, 10),
    Location("s", "http://a/", "20180101000000", "item/a.warc.gz", 6, 10),
    Location("s", "http://a/", "20180101000000", "item/a.warc.gz", 7, 10),
    Location("s", "https://a/", "20230101000000", "item/a.warc.gz", 8, None),
    Location("s", "ftp://a/", "20240101000000", "item/a.warc.gz", 9, 10),
    Location("s", "http://a/", "20250101000000", "bare.warc.gz", 1, 10),
]


def test_the_best_capture_is_chosen_by_the_rules_in_their_order() -> None:
    pairs = [rank_capture(one, "application/pdf") for one in BEST_FIRST]
    assert pairs == sorted(pairs)
    assert len(set(pairs)) == len(pairs)


def test_all_captures_of_a_file_are_kept_the_best_in_its_row(tmp_path: Path) -> None:
    lines = [
        line(url=one.url, dt=one.datetime14, offset=str(one.offset), name=one.warc, surt="s",
             status="-" if one.url.startswith("ftp") else "200",
             size="-" if one.size_bytes is None else "10")
        for one in reversed(BEST_FIRST)
    ]  # fmt: skip
    lines.append(line(mime="warc/revisit", status="-", offset="99", dt="20110101000000"))
    done = backfilled(tmp_path, [*lines, lines[0]])
    counts = done.counts
    assert (counts["files"], counts["captures"], counts["revisits"]) == (1, 6, 1)
    assert counts[Reason.REPEATED] == 1
    cells, rows = read_rows(tmp_path)
    own = cells[0][1]
    assert split_key(cells[0][0])[1] is None
    assert read_location(own) == BEST_FIRST[0]
    assert own["file:mime"] == b"application/pdf"
    assert {read_location(one) for _, one in cells[1:]} == set(BEST_FIRST[1:])
    first = read_first_seen(own)
    assert first is not None
    assert (first.date, first.offset, first.count) == ("2018-01-01T00:00:00Z", 6, 7)
    assert len(rows) == 7
    assert [row.mimetype for row in rows].count("warc/revisit") == 1


@settings(
    max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(seed=st.integers(0, 10**6), files=st.integers(1, 6), cuts=st.integers(1, 4))
@example(seed=0, files=6, cuts=4)
def test_neither_order_nor_repetition_nor_cutting_matters(
    tmp_path_factory: pytest.TempPathFactory, seed: int, files: int, cuts: int
) -> None:
    lines = generate_cdx_lines(seed, 60, files)
    whole = tmp_path_factory.mktemp("whole")
    done = backfilled(whole, lines)
    counts = done.counts
    kept = counts["captures"] + counts["revisits"]
    assert counts["lines"] == len(lines) == kept + sum(counts[one] for one in Reason)
    shuffled = tmp_path_factory.mktemp("shuffled")
    random.Random(seed).shuffle(lines)
    for at in range(cuts):
        backfilled(shuffled, lines[at::cuts], packed=at % 2 == 1)
    backfilled(shuffled, lines[: len(lines) // 2])
    assert rows_left(shuffled) == rows_left(whole)


def test_what_was_read_here_keeps_its_row_and_the_index_stands_beside(tmp_path: Path) -> None:
    backfilled(tmp_path, [line()])
    (key, _), *_ = read_rows(tmp_path)[0]
    table = open_table(tmp_path)
    own = b'{"u":"http://mine/","d":"2020-01-01T00:00:00Z","c":1}'
    table.put(JOURNAL, [(key, {"file:meta": b"{}", "file:mime": b"text/html", "f:c": own})])
    table.close()
    backfilled(tmp_path, [line(offset="8", dt="20250706005950"), line()])
    cells = dict(read_rows(tmp_path)[0])
    assert json.loads(cells[key]["f:c"]) == {**json.loads(own), "c": 2}
    assert cells[key]["file:mime"] == b"text/html"
    assert len(cells) == 2


def test_a_time_is_the_same_with_and_without_its_zone() -> None:
    """Other programs write `f:c` without the Z. Of two captures in one second the URL decides."""
    location = Location("m)/", "http://m/", "20250706005950", "item/a.warc.gz", 5, 10)
    capture = IndexedCapture("ab" * 20, location, "text/html", 200)
    first = build_first_seen(capture.location)
    for date in (first.date, first.date.removesuffix("Z")):
        for url, is_first in (("http://a/", True), ("http://z/", False)):
            stored = encode_first_seen(replace(first, date=date, url=url))
            merged = merge(capture.sha1hex, [capture], {"f:c": stored})
            kept = read_first_seen({"f:c": merged.file_cells["f:c"]})
            assert kept is not None
            assert kept.url == (url if is_first else first.url)


@settings(
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    lines=st.lists(st.text("ab \r#", max_size=9), max_size=12),
    part_bytes=st.integers(1, 40),
    end=st.sampled_from(["", "\n"]),
)
def test_every_line_is_in_exactly_one_part(
    tmp_path: Path, lines: list[str], part_bytes: int, end: str
) -> None:
    path = tmp_path / "lines.cdx"
    data = ("\n".join(lines) + end).encode()
    path.write_bytes(data)
    found = [
        part_line for part in iter_parts([path], part_bytes) for part_line in iter_part_lines(part)
    ]
    assert (
        found == [one.rstrip(b"\r") for one in data.removesuffix(b"\n").split(b"\n")][: len(found)]
    )
    assert len(found) == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


def test_the_legend_of_an_index_holds_for_all_its_parts(tmp_path: Path) -> None:
    legend = " CDX b N a g V k s m S"
    rows = [
        f"20170706005950 org,example)/{n} http://example.org/{n} i/a.warc.gz {n}"
        " MQHD36X5MNZPWFNMD5LFOYZSFGCHUN3V 200 application/pdf 5"
        for n in range(100)
    ]
    assert backfilled(tmp_path, [legend, *rows]).counts["captures"] == 100


def test_a_damaged_index_is_told_of_and_what_was_whole_is_taken(tmp_path: Path) -> None:
    chance = random.Random(1)
    lines = [line(offset=str(chance.randrange(10**9))) for _ in range(20_000)]
    packed = gzip.compress("\n".join(lines).encode())
    path = tmp_path / "cut.cdx.gz"
    path.write_bytes(packed[: len(packed) // 2])
    done = sum_tallies(LocalEngine(tmp_path / "bulk", 1, 1).run(captures_job(tmp_path, [path])))
    assert done.counts[Reason.DAMAGED_RECORD] == 1
    assert "cut.cdx.gz" in done.examples[Reason.DAMAGED_RECORD][0]
    assert done.counts["captures"] > 1000
