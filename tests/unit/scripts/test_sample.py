"""The sample crawl: identical in each run, readable by other tools, and damaged only where intended."""

import gzip
import hashlib
import io
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pikepdf
import pytest
from warcio.archiveiterator import ArchiveIterator

from sample import SampleSummary, write_sample
from sample_pdfs import PASSWORD
from sample_texts import THEMES, read_reports, read_stories

SCRIPTS = Path(__file__).parents[3] / "scripts"

INTACT_WARCS = ("news.warc.gz", "papers.warc", "indexed/archive.warc.gz")


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> SampleSummary:
    return write_sample(tmp_path_factory.mktemp("sample"))


def read_records(path: Path) -> list[tuple[str, str, str | None, bytes]]:
    """Return type, URL, HTTP status and decoded body of every record of a WARC."""
    with path.open("rb") as stream:
        return [
            (
                record.rec_type,
                record.rec_headers.get_header("WARC-Target-URI") or "",
                record.http_headers.get_statuscode() if record.http_headers else None,
                record.content_stream().read(),
            )
            for record in ArchiveIterator(stream, check_digests="raise")
        ]


def read_bodies(summary: SampleSummary) -> list[bytes]:
    """Return every readable body, with repeats and without the captures of the CDX."""
    answers = [
        body
        for name in INTACT_WARCS
        for kind, _, status, body in read_records(summary.folder / name)
        if kind == "response" and status == "200"
    ]
    with zipfile.ZipFile(summary.folder / "bundle.zip") as archive:
        members = [archive.read(name) for name in archive.namelist()]
    loose = [path.read_bytes() for path in sorted((summary.folder / "loose").iterdir())]
    with (summary.folder / "cut.warc.gz").open("rb") as stream:
        first = next(row for row in ArchiveIterator(stream) if row.rec_type == "response")
        return [*answers, *members, *loose, first.content_stream().read()]


def test_two_runs_write_the_same_bytes(summary: SampleSummary, tmp_path: Path):
    write_sample(tmp_path)
    write_sample(tmp_path)
    second = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")}
    first_folder = summary.folder
    assert second == {
        path.relative_to(first_folder): path.read_bytes() for path in first_folder.rglob("*.*")
    }
    assert {str(name) for name in second} == set(summary.captures)


def test_the_summary_adds_up(summary: SampleSummary):
    capture_count = summary.stories + summary.pdfs + summary.repeats + len(summary.others)
    assert sum(summary.captures.values()) == capture_count == 70


def test_the_files_match_the_summary(summary: SampleSummary):
    all_bodies = read_bodies(summary)
    pages = [body for body in all_bodies if body.startswith(b"<!DOCTYPE")]
    pdfs = [body for body in all_bodies if body.startswith(b"%PDF")]
    locked_and_broken = 2
    assert len(set(pages)) == summary.stories
    assert len(set(pdfs)) == summary.pdfs + locked_and_broken
    in_the_index = summary.captures["indexed/captures.cdx"]
    assert len(all_bodies) - len(set(all_bodies)) == summary.repeats - in_the_index


@pytest.mark.parametrize("name", INTACT_WARCS)
def test_every_record_of_the_intact_warcs_has_a_valid_digest(summary: SampleSummary, name: str):
    kinds = Counter(kind for kind, *_ in read_records(summary.folder / name))
    assert kinds["response"] + kinds["revisit"] == summary.captures[name] == kinds["request"]
    assert kinds["warcinfo"] == 1


def test_the_main_warc_has_typical_records(summary: SampleSummary):
    news_records = read_records(summary.folder / "news.warc.gz")
    statuses = Counter(status for kind, _, status, _ in news_records if kind == "response")
    assert statuses == {"200": 27, "404": 1, "301": 1}
    assert Counter(kind for kind, *_ in news_records)["revisit"] == 1
    assert sum(body.startswith(b"\x89PNG") for *_, body in news_records) == 1


def test_only_the_last_record_of_the_cut_warc_is_damaged(summary: SampleSummary):
    path = summary.folder / "cut.warc.gz"
    with path.open("rb") as stream:
        pages = [
            record.content_stream().read().rstrip()
            for record in ArchiveIterator(stream)
            if record.rec_type == "response"
        ]
    assert len(pages) == summary.captures["cut.warc.gz"]
    assert [page.endswith(b"</html>") for page in pages] == [True, False]
    with pytest.raises(EOFError):
        gzip.decompress(path.read_bytes())


def test_the_index_is_sorted_and_has_the_offsets_of_the_records(summary: SampleSummary):
    folder = summary.folder / "indexed"
    header, *lines = (folder / "captures.cdx").read_bytes().splitlines()
    assert header == b" CDX N b a m s k r M S V g"
    assert lines == sorted(lines)
    for line in lines:
        fields = line.decode().split(" ")
        assert len(fields) == 11
        url, size, offset, name = fields[2], int(fields[8]), int(fields[9]), fields[10]
        data = (folder / name).read_bytes()[offset : offset + size]
        (record,) = ArchiveIterator(io.BytesIO(data))
        assert record.rec_headers.get_header("WARC-Target-URI") == url
        assert record.rec_headers.get_header("WARC-Payload-Digest") == f"sha1:{fields[5]}"


def test_all_pdfs_open_except_the_broken_and_the_locked_one(summary: SampleSummary):
    facts_by_sha1 = {}
    for body in read_bodies(summary):
        if body.startswith(b"%PDF"):
            key = hashlib.sha1(body).hexdigest()
            try:
                with pikepdf.open(io.BytesIO(body)) as pdf:
                    facts_by_sha1[key] = (
                        len(pdf.pages),
                        "/doi" in pdf.docinfo,
                        str(pdf.docinfo["/Title"]),
                    )
            except (pikepdf.PasswordError, pikepdf.PdfError) as error:
                facts_by_sha1[key] = (0, False, type(error).__name__)
    titles = {title for *_, title in facts_by_sha1.values()}
    assert titles == {report.title for report in read_reports()} | {"PasswordError", "PdfError"}
    assert max(pages for pages, *_ in facts_by_sha1.values()) == 3
    assert sum(doi for _, doi, _ in facts_by_sha1.values()) == 5
    locked_pdf = next((summary.folder / "loose").glob("*confidential.pdf"))
    with pikepdf.open(locked_pdf, password=PASSWORD) as pdf:
        assert len(pdf.pages) == 2


def test_stories_have_the_length_of_news_and_cover_the_themes():
    texts = read_stories()
    assert Counter(story.theme for story in texts) == dict.fromkeys(THEMES, 8)
    assert Counter(story.language for story in texts) == {"en": 31, "de": 3, "fr": 3, "es": 3}
    assert all(120 <= len(" ".join(story.paragraphs).split()) <= 250 for story in texts)
    assert len({story.url for story in texts}) == len(texts)
    assert sum(story.published is None for story in texts) == 3


def test_every_page_has_its_own_title_and_charset(summary: SampleSummary):
    pages = {body for body in read_bodies(summary) if body.startswith(b"<!DOCTYPE")}
    titles = set()
    for body in pages:
        match = re.search(rb'charset="?([\w-]+)', body)
        assert match is not None
        text = body.decode(match[1].decode())
        title = re.search('og:title" content="(.*?)"', text)
        assert title is not None
        titles.add(title[1])
        assert "<nav>" in text
    assert len(titles) == len(pages)
    assert {story.site.charset for story in read_stories()} == {
        "utf-8",
        "iso-8859-1",
        "windows-1252",
    }


def test_all_hosts_are_reserved_names():
    hosts = {text.url.split("/")[2] for text in [*read_stories(), *read_reports()]}
    assert len(hosts) == 13
    assert all(host.endswith(".example") for host in hosts)


def test_the_program_prints_a_summary(tmp_path: Path):
    result = subprocess.run(
        [sys.executable, SCRIPTS / "sample.py", tmp_path / "crawl"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "70 captures" in result.stdout
    assert "39 pages, 15 PDFs, 9 repeats" in result.stdout
    assert (tmp_path / "crawl" / "bundle.zip").exists()
