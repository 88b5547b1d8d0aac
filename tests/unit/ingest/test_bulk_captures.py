"""Backfill: which lines are stored, which capture is best, and that order and repetition do not matter."""

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
from fonds.ingest.bulk import index_reader
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
COUNTED_REASONS = (Reason.HTTP_STATUS, Reason.UNSUPPORTED_TYPE)
# Result of the reference mapper for the 20 lines: success, skip (by type) or invalid (a field is `-`).
REFERENCE = ["success", "success", "skip", "success", "success", "skip", "invalid", *["skip"] * 6,
             "success", "skip", "success", "skip", "skip", "success", "skip"]  # fmt: skip


def run_backfill(home: Path, lines: list[str], *, packed: bool = False) -> ExampleCounts:
    home.mkdir(exist_ok=True)
    path = home / f"lines.cdx{'.gz' if packed else ''}"
    data = "\n".join([*lines, ""]).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    engine = LocalEngine(home / "bulk", 1, 1, 5000)
    return sum_tallies(engine.run(captures_job(home, [path])))


def list_stored_rows(home: Path) -> tuple[list[object], list[object]]:
    cells, rows = read_rows(home)
    return cells, [*rows]


@needs_corpus
def test_corpus_lines_get_the_same_outcome_as_in_the_reference() -> None:
    """The reference ignores the status: a redirect with the type of a PDF is a success there. Its `invalid`
    line has the scheme whois and no status, so it is no file transfer here either."""
    lines = (CORPUS / "example.cdx").read_text().splitlines()
    reasons = []
    for line in lines:
        parsed = IndexReader().parse(line)
        reasons.append(find_refusal_reason(parsed, CaptureFilter()))
    outcomes = [
        "success" if reason is None else "invalid" if " whois://" in line else "skip"
        for reason, line in zip(reasons, lines, strict=True)
    ]
    assert outcomes == REFERENCE
    assert {reason for reason in reasons if reason is not None} == set(COUNTED_REASONS)


CASES = {
    "papers_domain_words": 4, "papers_edu_tilde": 6, "papers_url_doi": 2, "papers_url_words": 12,
}  # fmt: skip


@needs_corpus
@pytest.mark.parametrize("name", CASES)
def test_the_papers_filter_matches_the_expected_number_of_cases(name: str) -> None:
    """Only the SURT is checked: some of the cases are refused because their digest is not SHA-1."""
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
def test_paper_urls_are_recognized_by_surt(surt: str, paper: bool) -> None:
    assert is_paper(surt) is paper


def format_line(**changed: str) -> str:
    fields = {
        "surt": "org,example)/a", "dt": "20170706005950", "url": "http://example.org/a",
        "mime": "application/pdf", "status": "200", "digest": "MQHD36X5MNZPWFNMD5LFOYZSFGCHUN3V",
        "r": "-", "m": "-", "size": "5", "offset": "7", "name": "item/a.warc.gz",
    }  # fmt: skip
    return " ".join({**fields, **changed}.values())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (format_line(), None),
        (format_line(mime="('application/pdf'"), None),
        (format_line(url="ftp://example.org/a", status="-"), None),
        (format_line(url="ftp://example.org/a", status="226"), None),
        (format_line(mime="warc/revisit", status="-"), None),
        (format_line(status="-"), Reason.HTTP_STATUS),
        (format_line(status="301"), Reason.HTTP_STATUS),
        (format_line(mime="text/html"), Reason.UNSUPPORTED_TYPE),
        (format_line(mime="unk"), Reason.UNSUPPORTED_TYPE),
        (format_line(digest="-"), Reason.NO_DIGEST),
        (format_line(digest="sha-256:0e97"), Reason.NO_DIGEST),
        (format_line(digest="1" * 32), Reason.BAD_INDEX_LINE),
        (format_line(dt="2017"), Reason.BAD_INDEX_LINE),
        (format_line(status="abc"), Reason.BAD_INDEX_LINE),
        ("one two", Reason.BAD_INDEX_LINE),
        (" CDX N b a m s k r M S V g", Reason.NOT_A_CAPTURE),
        ("", Reason.NOT_A_CAPTURE),
        ("filedesc:a.arc 20170706005950", Reason.NOT_A_CAPTURE),
    ],
)
def test_a_refused_line_has_exactly_one_reason(text: str, reason: Reason | None) -> None:
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


def test_captures_are_ranked_by_the_rules_in_order() -> None:
    pairs = [rank_capture(location, "application/pdf") for location in BEST_FIRST]
    assert pairs == sorted(pairs)
    assert len(set(pairs)) == len(pairs)


def test_all_captures_are_stored_and_the_best_is_in_the_row_of_the_file(tmp_path: Path) -> None:
    lines = [
        format_line(surt="s", url=location.url, dt=location.datetime14,
             offset=str(location.offset), name=location.warc,
             status="-" if location.url.startswith("ftp") else "200",
             size="-" if location.size_bytes is None else "10")
        for location in reversed(BEST_FIRST)
    ]  # fmt: skip
    lines.append(format_line(mime="warc/revisit", status="-", offset="99", dt="20110101000000"))
    done = run_backfill(tmp_path, [*lines, lines[0]])
    counts = done.counts
    assert (counts["files"], counts["captures"], counts["revisits"]) == (1, 6, 1)
    assert counts[Reason.REPEATED] == 1
    cells, rows = read_rows(tmp_path)
    own = cells[0][1]
    assert split_key(cells[0][0])[1] is None
    assert read_location(own) == BEST_FIRST[0]
    assert own["file:mime"] == b"application/pdf"
    assert {read_location(cell) for _, cell in cells[1:]} == set(BEST_FIRST[1:])
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
def test_order_repetition_and_splitting_do_not_change_the_stored_rows(
    tmp_path_factory: pytest.TempPathFactory, seed: int, files: int, cuts: int
) -> None:
    lines = generate_cdx_lines(seed, 60, files)
    in_order_home = tmp_path_factory.mktemp("in-order")
    done = run_backfill(in_order_home, lines)
    counts = done.counts
    stored = counts["captures"] + counts["revisits"]
    assert counts["lines"] == len(lines) == stored + sum(counts[reason] for reason in Reason)
    shuffled = tmp_path_factory.mktemp("shuffled")
    random.Random(seed).shuffle(lines)
    for start in range(cuts):
        run_backfill(shuffled, lines[start::cuts], packed=start % 2 == 1)
    run_backfill(shuffled, lines[: len(lines) // 2])
    assert list_stored_rows(shuffled) == list_stored_rows(in_order_home)


def test_an_index_line_keeps_the_cells_of_a_file_already_ingested(tmp_path: Path) -> None:
    run_backfill(tmp_path, [format_line()])
    (key, _), *_ = read_rows(tmp_path)[0]
    table = open_table(tmp_path)
    own = b'{"u":"http://mine/","d":"2020-01-01T00:00:00Z","c":1}'
    table.put(JOURNAL, [(key, {"file:meta": b"{}", "file:mime": b"text/html", "f:c": own})])
    table.close()
    run_backfill(tmp_path, [format_line(offset="8", dt="20250706005950"), format_line()])
    cells = dict(read_rows(tmp_path)[0])
    assert json.loads(cells[key]["f:c"]) == {**json.loads(own), "c": 2}
    assert cells[key]["file:mime"] == b"text/html"
    assert len(cells) == 2


def test_a_time_with_and_without_zone_compares_equal() -> None:
    """Other programs write `f:c` without the Z. The URL decides between two captures in one second."""
    location = Location("m)/", "http://m/", "20250706005950", "item/a.warc.gz", 5, 10)
    capture = IndexedCapture("ab" * 20, location, "text/html", 200)
    first = build_first_seen(capture.location)
    for date in (first.date, first.date.removesuffix("Z")):
        for url, is_first in (("http://a/", True), ("http://z/", False)):
            stored = encode_first_seen(replace(first, date=date, url=url))
            merged = merge(capture.sha1hex, [capture], {"f:c": stored})
            first_seen = read_first_seen({"f:c": merged.file_cells["f:c"]})
            assert first_seen is not None
            assert first_seen.url == (url if is_first else first.url)


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
    part_lines = [
        part_line for part in iter_parts([path], part_bytes) for part_line in iter_part_lines(part)
    ]
    assert (
        part_lines
        == [data_line.rstrip(b"\r") for data_line in data.removesuffix(b"\n").split(b"\n")][
            : len(part_lines)
        ]
    )
    assert len(part_lines) == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


def test_a_line_over_the_limit_is_split_and_stays_in_its_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_reader, "LINE_MAX_BYTES", 4)
    path = tmp_path / "lines.cdx"
    path.write_bytes(b"aaaaaaaaaa\nb\n")
    assert [list(iter_part_lines(part)) for part in iter_parts([path], 5)] == [
        [b"aaaa", b"aaaa", b"aa"],
        [],
        [b"b"],
    ]


def test_the_header_line_of_an_index_applies_to_all_its_parts(tmp_path: Path) -> None:
    header_line = " CDX b N a g V k s m S"
    rows = [
        f"20170706005950 org,example)/{n} http://example.org/{n} i/a.warc.gz {n}"
        " MQHD36X5MNZPWFNMD5LFOYZSFGCHUN3V 200 application/pdf 5"
        for n in range(100)
    ]
    assert run_backfill(tmp_path, [header_line, *rows]).counts["captures"] == 100


def test_a_damaged_index_is_reported_and_its_readable_lines_are_stored(tmp_path: Path) -> None:
    chance = random.Random(1)
    lines = [format_line(offset=str(chance.randrange(10**9))) for _ in range(20_000)]
    packed = gzip.compress("\n".join(lines).encode())
    path = tmp_path / "cut.cdx.gz"
    path.write_bytes(packed[: len(packed) // 2])
    done = sum_tallies(LocalEngine(tmp_path / "bulk", 1, 1).run(captures_job(tmp_path, [path])))
    assert done.counts[Reason.DAMAGED_RECORD] == 1
    assert "cut.cdx.gz" in done.examples[Reason.DAMAGED_RECORD][0]
    assert done.counts["captures"] > 1000
