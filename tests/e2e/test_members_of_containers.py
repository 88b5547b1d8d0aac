"""Members of a ZIP and records of a WARC are separate files, and are found by the names that are printed."""

from __future__ import annotations

import zipfile
from hashlib import sha1
from pathlib import Path

from e2e.running import fonds
from fixtures.http_server import CannedResponse, HttpServer
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, warc_record
from story_pages import page_markup

PRIVATE = {"FONDS_ELSEWHERE_PRIVATE_ADDRESSES": "true"}
TEXTS = {
    "a.html": ("River", "The river rose over its banks near the old bridge."),
    "b.html": ("Hospital", "The hospital was opened on Monday by the mayor of the town."),
    "dir one/über uns.html": ("Museum", "The museum shows paintings of boats and of harbours."),
    "with # mark.html": ("Library", "The library lends books on gardens to its readers."),
}
PAGES = {
    name: page_markup(title, "\n".join([f"{text} More is said on it later."] * 6), (), None, "en")
    for name, (title, text) in TEXTS.items()
}
WORDS = {
    "a.html": "banks",
    "b.html": "hospital",
    "dir one/über uns.html": "paintings",
    "with # mark.html": "gardens",
}


def sha1_of(body: bytes) -> str:
    return sha1(body, usedforsecurity=False).hexdigest()


def write_zip(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in PAGES.items():
            archive.writestr(name, body)
    return path


def check_each_page_is_a_story(home: Path) -> None:
    for name, word in WORDS.items():
        hits = [line for line in fonds(home, "search", word, "--json").lines if "sha1hex" in line]
        assert [hit["sha1hex"] for hit in hits] == [sha1_of(PAGES[name])], name
    assert "0 edited" in fonds(home, "changes").out
    out = home.parent / "all.bib"
    assert fonds(home, "export", "--format", "bibtex", "--out", out).code == 0
    assert out.read_text().count("@") == len(PAGES)
    audit = fonds(home, "audit", "--deep")
    assert audit.code == 0, audit.out


def test_pages_in_a_zip_are_separate_stories(home: Path, tmp_path: Path) -> None:
    assert fonds(home, "ingest", write_zip(tmp_path / "pages.zip")).code == 0
    check_each_page_is_a_story(home)


def test_pages_in_a_zip_at_a_url_are_separate_stories(
    server: HttpServer, home: Path, tmp_path: Path
) -> None:
    path = write_zip(tmp_path / "pages.zip")
    server.responses["/pages.zip?v=1"] = CannedResponse(body=path.read_bytes())
    url = f"{server.url}/pages.zip?v=1"
    assert fonds(home, "ingest", url, **PRIVATE).code == 0
    check_each_page_is_a_story(home)
    for name, body in PAGES.items():
        (hit,) = [
            line for line in fonds(home, "search", WORDS[name], "--json").lines if "sha1hex" in line
        ]
        assert fonds(home, "show", hit["url"], "--json").last["sha1hex"] == sha1_of(body)


def test_records_without_url_in_warcs_of_a_zip_are_separate_stories(
    home: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "crawl.zip", "w") as archive:
        for number, body in enumerate(PAGES.values()):
            warc = gzip_records([warc_record(body, url=None)])
            archive.writestr(f"{number}.warc.gz", warc, zipfile.ZIP_STORED)
    assert fonds(home, "ingest", tmp_path / "crawl.zip").code == 0
    check_each_page_is_a_story(home)


def test_a_pdf_in_a_zip_is_found_by_its_member_name(home: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "papers.zip", "w") as archive:
        archive.writestr("in/the scan.pdf", text_pdf([""]))
    assert fonds(home, "ingest", tmp_path / "papers.zip").code == 0
    file_data = fonds(home, "show", "the scan.pdf", "--json").last
    assert file_data["document"]["article_title"] == "the scan.pdf"


def test_a_member_is_shown_by_each_of_its_names(home: Path, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "pages.zip")
    assert fonds(home, "ingest", path).code == 0
    for name, body in PAGES.items():
        expected = fonds(home, "show", sha1_of(body)).out
        url = next(line for line in fonds(home, "search", WORDS[name], "--json").lines)["url"]
        for key in (f"{path}#{name}", url, name.rpartition("/")[2]):
            result = fonds(home, "show", key)
            assert (result.code, result.out) == (0, expected), key
            body_result = fonds(home, "show", key, "--body")
            assert body_result.out == body.decode(), key


def test_show_lists_the_records_of_a_container(home: Path, tmp_path: Path) -> None:
    warc = tmp_path / "crawl.warc.gz"
    records = [gzip_records([warc_record(body)]) for body in list(PAGES.values())[:2]]
    warc.write_bytes(b"".join(records))
    path = write_zip(tmp_path / "pages.zip")
    assert fonds(home, "ingest", path, warc).code == 0
    result = fonds(home, "show", path)
    assert result.code == 0
    assert all(sha1_of(body) in result.out for body in PAGES.values())
    warc_places = [
        line["entries"][0]["place"] for line in fonds(home, "show", warc, "--json").lines
    ]
    assert warc_places == [f"{warc}:0", f"{warc}:{len(records[0])}"]
    for place, body in zip(warc_places, PAGES.values(), strict=False):
        assert fonds(home, "show", place, "--json").last["sha1hex"] == sha1_of(body)
    refused = fonds(home, "show", path, "--body")
    assert (refused.code, refused.out) == (1, "")
    assert "4 records" in refused.err


def test_a_file_is_shown_by_its_path(home: Path, tmp_path: Path) -> None:
    bodies = {
        "a report.pdf": text_pdf(["A report on dikes."]),
        "A REPORT.pdf": text_pdf(["Another report, on boats."]),
        "über#1.html": PAGES["a.html"],
    }
    for name, body in bodies.items():
        (tmp_path / name).write_bytes(body)
    assert fonds(home, "ingest", *(tmp_path / name for name in bodies)).code == 0
    for name, body in bodies.items():
        path = tmp_path / name
        for key in (str(path), path.as_uri()):
            lines = fonds(home, "show", key, "--json").lines
            assert [line["sha1hex"] for line in lines] == [sha1_of(body)], key
        assert fonds(home, "show", path).out == fonds(home, "show", sha1_of(body)).out
        text, own = (fonds(home, "show", key, "--text") for key in (path, sha1_of(body)))
        assert (text.code, text.out) == (0, own.out)


def test_printed_offsets_are_inside_the_file(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    good = warc_record(PAGES["a.html"], url="http://a.example/")
    broken = warc_record(b"%PDF-1.4 and no more", url="http://b.example/b.pdf")
    first = gzip_records([good])
    last = len(first)
    path.write_bytes(first + gzip_records([good + broken + b"no record\r\n"]))
    fonds(home, "ingest", path)
    listed = fonds(home, "failures", "--list", "--json").lines
    assert {line["place"] for line in listed} == {f"{path}:{last}#2", f"{path}:{last}#3"}
    assert {line["entry_id"].rpartition("-")[2] for line in listed} == {
        f"{last:012x}.2",
        "damage",
    }
    output = fonds(home, "failures", "--list").out + fonds(home, "show", path).out
    assert str(1 << 40)[:6] not in output
    for line in listed:
        result = fonds(home, "show", line["place"])
        assert result.code == 0, line["place"]
        assert "b.example" in result.out or "no record" in result.out
    extracted = fonds(home, "archive", "extract", f"{path}:{last}#2")
    assert extracted.out == "%PDF-1.4 and no more"
    assert fonds(home, "audit", "--deep").code == 0
