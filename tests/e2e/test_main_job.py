"""The main job from the command line: in, found, shown, proven, exported, and again without change."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from e2e.crawls import page
from e2e.running import adds_up, fonds, start
from sample import write_sample


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample crawl in it."""
    folder = tmp_path_factory.mktemp("main-job")
    write_sample(folder / "crawl")
    ran = fonds(folder / "home", "ingest", "--json", folder / "crawl")
    assert ran.code == 1, ran.err  # the sample holds broken things on purpose
    assert adds_up(ran.last)
    assert ran.last["pending"] == 0
    return folder / "home"


def test_the_sample_ends_with_every_record_accounted_for(home: Path) -> None:
    found = fonds(home, "audit", "--json").last
    assert found["balanced"], found["missing"]
    assert found["missing"] == []
    assert found["steps"]["library"]["extract_pdf"]["in"] > 10
    assert found["steps"]["library"]["parse_story"]["done"] > 30
    status = fonds(home, "status", "--json").last
    assert status["quarantined"].keys() >= {"truncated-record", "broken-pdf", "encrypted-pdf"}
    assert status["dropped"]["duplicate"] >= 2
    assert status["searchable"] == status["done"]


def test_the_second_time_adds_nothing_and_says_so(home: Path) -> None:
    before = fonds(home, "status", "--json").last
    again = fonds(home, "ingest", home.parent / "crawl")
    assert again.code == 0
    assert "Nothing new" in again.out
    after = fonds(home, "status", "--json").last
    assert (before["in"], before["searchable"]) == (after["in"], after["searchable"])


def test_what_came_in_is_found_and_can_be_followed_back_to_its_bytes(home: Path) -> None:
    hits = fonds(home, "search", "--json", "--limit", "100").lines
    assert {hit["kind"] for hit in hits} == {"pdf", "story"}
    for hit in (next(h for h in hits if h["kind"] == kind) for kind in ("pdf", "story")):
        shown = fonds(home, "show", hit["sha1hex"], "--json").last
        assert shown["file"]["sha1hex"] == hit["sha1hex"]
        assert shown["history"]
        body = shown_body(home, hit["sha1hex"])
        assert hashlib.sha1(body).hexdigest() == hit["sha1hex"]
    assert fonds(home, "search", "--kind", "pdf", "--json").lines
    assert fonds(home, "search", "nowherewordatall").out == "Nothing found.\n"
    assert fonds(home, "search", '"unclosed').code in (0, 2)


def shown_body(home: Path, key: str) -> bytes:
    with TemporaryFile() as out, Path(os.devnull).open("r+b") as nothing:
        words = ["--home", str(home), "show", key, "--body"]
        files = (nothing.fileno(), out.fileno(), nothing.fileno())
        assert start(words, files, os.environ).wait() == 0
        out.seek(0)
        return out.read()


def test_show_takes_hex_base32_urls_story_ids_and_what_the_search_box_takes(home: Path) -> None:
    story = fonds(home, "search", "--kind", "story", "--json", "--limit", "1").last
    shown = fonds(home, "show", story["id"], "--json").last
    assert shown["sha1hex"] == story["sha1hex"]
    by_url = fonds(home, "show", shown["captures"][0]["url"], "--json").lines
    assert story["sha1hex"] in [one["sha1hex"] for one in by_url]
    loose = fonds(home, "search", "--kind", "story", "--language", "fr", "--json").last
    known = fonds(home, "show", loose["url"], "--json").lines
    assert loose["sha1hex"] in [one["sha1hex"] for one in known]
    base32 = base64.b32encode(bytes.fromhex(story["sha1hex"])).decode()
    assert fonds(home, "show", base32, "--json").last["sha1hex"] == story["sha1hex"]
    assert fonds(home, "show", story["sha1hex"][:8], "--json").last["sha1hex"] == story["sha1hex"]
    paper = fonds(home, "search", "--kind", "pdf", "--json", "--limit", "1").last
    named = fonds(home, "show", paper["url"].rpartition("/")[2], "--json").lines
    assert paper["sha1hex"] in [one["sha1hex"] for one in named]
    assert fonds(home, "show", "http://never.example/").code == 1


def test_failures_are_grouped_and_can_be_tried_again(home: Path) -> None:
    before = fonds(home, "status", "--json").last
    groups = fonds(home, "failures", "--json").lines
    assert {group["reason"] for group in groups} >= {"broken-pdf", "encrypted-pdf"}
    ran = fonds(home, "failures", "retry", "--reason", "broken-pdf", "--json")
    assert ran.code == 1
    assert ran.last["quarantined"]["broken-pdf"] >= 1
    after = fonds(home, "status", "--json").last
    assert before["quarantined"] == after["quarantined"]
    assert fonds(home, "audit", "--json").last["balanced"]


def test_exports_hold_every_kept_file_in_both_formats(home: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    rows = fonds(home, "export").lines
    out = tmp_path / "library.parquet"
    assert fonds(home, "export", "--format", "parquet", "--out", out).code == 0
    table = parquet.read_table(out)
    assert table.num_rows == len(rows) > 40
    assert table.column("sha1hex").to_pylist() == [row["sha1hex"] for row in rows]
    manifest = json.loads(Path(f"{out}.manifest.json").read_text())
    assert manifest["rows"] == len(rows)
    assert manifest["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert fonds(home, "export", "--format", "parquet").code == 2


def test_extract_says_what_would_be_learned_and_stores_nothing(home: Path, tmp_path: Path) -> None:
    crawl = home.parent / "crawl"
    ran = fonds(tmp_path / "unused", "extract", crawl)
    assert ran.code == 1
    assert not (tmp_path / "unused").exists()
    lines = ran.lines
    pdf = next(line for line in lines if line["kind"] == "pdf" and line["status"] == "done")
    wanted = {"page_count", "word_count", "page0_width", "page0_height"}
    wanted |= {"permanent_id", "update_id", "pdf_version"}
    assert pdf["pdf"]["pdf_extra"].keys() >= wanted
    assert pdf["pdf"]["sha1hex"] == pdf["sha1hex"]
    story = next(line for line in lines if line["kind"] == "story" and line["status"] == "done")
    parts = {"rss_entry", "raw_html", "http_metadata", "content_metadata"}
    assert story["story"].keys() >= parts
    assert story["story"]["content_metadata"]["text_content"]


def test_standard_input_and_lists_are_taken_in_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ran = fonds(home, "ingest", "--json", "-", stdin=page(7))
    assert (ran.code, ran.last["done"]) == (0, 1)
    (tmp_path / "one.html").write_bytes(page(8))
    names = tmp_path / "names.txt"
    names.write_text(f"# what to take in\n{tmp_path / 'one.html'}\n{tmp_path / 'gone.html'}\n")
    ran = fonds(home, "ingest", "--json", f"@{names}")
    assert (ran.code, ran.last["done"]) == (1, 1)
    assert ran.last["quarantined"] == {"missing-source": 1}


def test_doctor_finds_a_used_home_fit(home: Path) -> None:
    ran = fonds(home, "doctor", "--json")
    assert ran.code == 0, ran.out
    assert all(finding["fine"] for finding in ran.last["findings"])
