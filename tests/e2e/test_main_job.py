"""The main commands: ingest, search, show, audit, export, and a second ingest without changes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from e2e.crawls import page
from e2e.running import adds_up, fonds, start
from sample import write_sample


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample crawl."""
    folder = tmp_path_factory.mktemp("main-job")
    write_sample(folder / "crawl")
    result = fonds(folder / "home", "ingest", "--json", folder / "crawl")
    assert result.code == 1, result.err  # The sample contains damaged files on purpose.
    assert adds_up(result.last)
    assert result.last["pending"] == 0
    return folder / "home"


def test_every_record_of_the_sample_has_an_outcome(home: Path) -> None:
    audit = fonds(home, "audit", "--json").last
    assert audit["balanced"], audit["missing"]
    assert audit["missing"] == []
    assert audit["steps"]["library"]["extract_pdf"]["in"] > 10
    assert audit["steps"]["library"]["parse_story"]["done"] > 30
    status = fonds(home, "status", "--json").last
    assert status["quarantined"].keys() >= {"truncated-record", "broken-pdf", "encrypted-pdf"}
    assert status["dropped"]["duplicate"] >= 2
    assert status["searchable"] == status["done"]


def test_a_second_ingest_reports_nothing_new(home: Path) -> None:
    before = fonds(home, "status", "--json").last
    second = fonds(home, "ingest", home.parent / "crawl")
    assert second.code == 0
    assert "Nothing new" in second.out
    after = fonds(home, "status", "--json").last
    assert (before["in"], before["searchable"]) == (after["in"], after["searchable"])


def test_ingested_files_are_found_and_their_bytes_shown(home: Path) -> None:
    hits = fonds(home, "search", "--json", "--limit", "100").lines
    assert {hit["kind"] for hit in hits} == {"pdf", "story"}
    for hit in (next(h for h in hits if h["kind"] == kind) for kind in ("pdf", "story")):
        file_data = fonds(home, "show", hit["sha1hex"], "--json").last
        assert file_data["file"]["sha1hex"] == hit["sha1hex"]
        assert file_data["history"]
        body = read_shown_body(home, hit["sha1hex"])
        assert hashlib.sha1(body).hexdigest() == hit["sha1hex"]
    assert fonds(home, "search", "--kind", "pdf", "--json").lines
    assert fonds(home, "search", "nowherewordatall").out == "Nothing found.\n"
    assert fonds(home, "search", '"unclosed').code in (0, 2)


def read_shown_body(home: Path, key: str) -> bytes:
    with TemporaryFile() as out, Path(os.devnull).open("r+b") as null_file:
        words = ["--home", str(home), "show", key, "--body"]
        files = (null_file.fileno(), out.fileno(), null_file.fileno())
        assert start(words, files, os.environ).wait() == 0
        out.seek(0)
        return out.read()


def test_show_accepts_hashes_urls_story_ids_and_file_names(home: Path) -> None:
    story = fonds(home, "search", "--kind", "story", "--json", "--limit", "1").last
    file_data = fonds(home, "show", story["id"], "--json").last
    assert file_data["sha1hex"] == story["sha1hex"]
    by_url = fonds(home, "show", file_data["captures"][0]["url"], "--json").lines
    assert story["sha1hex"] in [line["sha1hex"] for line in by_url]
    loose = fonds(home, "search", "--kind", "story", "--language", "fr", "--json").last
    by_loose_url = fonds(home, "show", loose["url"], "--json").lines
    assert loose["sha1hex"] in [line["sha1hex"] for line in by_loose_url]
    base32 = base64.b32encode(bytes.fromhex(story["sha1hex"])).decode()
    assert fonds(home, "show", base32, "--json").last["sha1hex"] == story["sha1hex"]
    assert fonds(home, "show", story["sha1hex"][:8], "--json").last["sha1hex"] == story["sha1hex"]
    paper = fonds(home, "search", "--kind", "pdf", "--json", "--limit", "1").last
    by_name = fonds(home, "show", paper["url"].rpartition("/")[2], "--json").lines
    assert paper["sha1hex"] in [line["sha1hex"] for line in by_name]
    assert fonds(home, "show", "http://never.example/").code == 1


def test_failures_are_grouped_and_retried(home: Path) -> None:
    before = fonds(home, "status", "--json").last
    groups = fonds(home, "failures", "--json").lines
    assert {group["reason"] for group in groups} >= {"broken-pdf", "encrypted-pdf"}
    result = fonds(home, "failures", "retry", "--reason", "broken-pdf", "--json")
    assert result.code == 1
    assert result.last["quarantined"]["broken-pdf"] >= 1
    after = fonds(home, "status", "--json").last
    assert before["quarantined"] == after["quarantined"]
    assert fonds(home, "audit", "--json").last["balanced"]


def test_exports_contain_every_stored_file_in_both_formats(home: Path, tmp_path: Path) -> None:
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


def test_extract_prints_results_without_storing_them(home: Path, tmp_path: Path) -> None:
    crawl = home.parent / "crawl"
    result = fonds(tmp_path / "unused", "extract", crawl)
    assert result.code == 1
    assert not (tmp_path / "unused").exists()
    lines = result.lines
    pdf = next(line for line in lines if line["kind"] == "pdf" and line["status"] == "done")
    expected_fields = {"page_count", "word_count", "page0_width", "page0_height"}
    expected_fields |= {"permanent_id", "update_id", "pdf_version"}
    assert pdf["pdf"]["pdf_extra"].keys() >= expected_fields
    assert pdf["pdf"]["sha1hex"] == pdf["sha1hex"]
    story = next(line for line in lines if line["kind"] == "story" and line["status"] == "done")
    expected_parts = {"rss_entry", "raw_html", "http_metadata", "content_metadata"}
    assert story["story"].keys() >= expected_parts
    assert story["story"]["content_metadata"]["text_content"]


def test_standard_input_and_lists_are_ingested(tmp_path: Path) -> None:
    home = tmp_path / "home"
    result = fonds(home, "ingest", "--json", "-", stdin=page(7))
    assert (result.code, result.last["done"]) == (0, 1)
    (tmp_path / "one.html").write_bytes(page(8))
    names = tmp_path / "names.txt"
    names.write_text(f"# what to take in\n{tmp_path / 'one.html'}\n{tmp_path / 'gone.html'}\n")
    result = fonds(home, "ingest", "--json", f"@{names}")
    assert (result.code, result.last["done"]) == (1, 1)
    assert result.last["quarantined"] == {"missing-source": 1}


def test_doctor_reports_no_problem_of_a_used_home(home: Path) -> None:
    result = fonds(home, "doctor", "--json")
    assert result.code == 0, result.out
    assert all(finding["fine"] for finding in result.last["findings"])


def test_only_the_owner_can_open_a_home(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(page(9))
    home = tmp_path / "home"
    assert fonds(home, "ingest", "-q", str(tmp_path / "page.html")).code == 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for mode, is_weaker in ((0o700, False), (0o750, True), (0o755, True)):
        home.chmod(mode)
        result = fonds(home, "doctor", "--json")
        (finding,) = (f for f in result.last["findings"] if f["name"] == "privacy")
        assert (result.code, finding["warning"]) == (0, is_weaker)
        assert ("chmod 700" in finding["detail"]) == is_weaker
