"""Files at URLs are ingested like local files, and each is fetched once."""

from __future__ import annotations

import json
import re
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import quote

from e2e.running import CommandResult, adds_up, call, fonds
from fixtures.http_server import CannedResponse, HttpServer
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response
from made_warcs import OUTCOMES, WARCS, rows_in, write_warcs
from sample import write_sample

PRIVATE = {"FONDS_ELSEWHERE_PRIVATE_ADDRESSES": "true"}


def file_response(body: bytes, **headers: str) -> CannedResponse:
    """Return the response of a server with ranges and ETags."""
    etag = sha1(body, usedforsecurity=False).hexdigest()
    return CannedResponse(
        body=body, headers={"ETag": f'"{etag}"', "Accept-Ranges": "bytes", **headers}
    )


def serve_folder(server: HttpServer, folder: Path) -> list[str]:
    """Serve all files of a folder; return their URLs."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    targets = [f"/item/{quote(path.relative_to(folder).as_posix())}" for path in paths]
    for path, target in zip(paths, targets, strict=True):
        server.responses[target] = file_response(path.read_bytes())
    return [server.url + target for target in targets]


def ingest(home: Path, *words: str | Path) -> dict[str, Any]:
    result = fonds(home, "ingest", "--json", *words, **PRIVATE)
    assert result.code in (0, 1), result.err
    assert adds_up(result.last)
    last: dict[str, Any] = result.last
    return last


def files_of(home: Path) -> dict[str, str]:
    """Return the media type of each file by SHA-1."""
    lines = call(home, "export", "--format", "jsonl").lines
    return {line["sha1hex"]: line["mimetype"] for line in lines}


def test_a_crawl_at_urls_is_ingested_like_a_local_one(
    server: HttpServer, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "item"
    write_sample(folder)
    urls = serve_folder(server, folder)
    local_home = tmp_path / "here"
    local, remote = ingest(local_home, folder), ingest(home, *urls)
    assert remote["in"] == local["in"]
    assert remote["quarantined"] == local["quarantined"]
    assert remote["done"] + sum(remote["dropped"].values()) == local["done"] + sum(
        local["dropped"].values()
    )
    assert files_of(home) == files_of(local_home)
    audit = fonds(home, "audit", "--deep", "--json", **PRIVATE)
    assert audit.code == 0, audit.out
    second = ingest(home, *urls)
    assert second["in"] == 0
    assert files_of(home) == files_of(local_home)


def test_a_file_is_fetched_once_and_shown_by_its_url(server: HttpServer, home: Path) -> None:
    body = text_pdf(["A report behind a URL."])
    server.responses["/papers/a%20report.pdf"] = file_response(body)
    url = f"{server.url}/papers/a%20report.pdf"
    assert ingest(home, url)["done"] == 1
    assert [target for target, _ in server.requests] == ["/papers/a%20report.pdf"]
    server.responses.clear()
    file_data = fonds(home, "show", "--json", url).last
    assert file_data["sha1hex"] == sha1(body, usedforsecurity=False).hexdigest()
    assert fonds(home, "audit", "--deep").code == 0
    (hit,) = fonds(home, "search", "--json", "report behind").lines
    assert hit["url"] == url


def test_each_url_of_a_list_is_fetched_once(server: HttpServer, home: Path, tmp_path: Path) -> None:
    urls = []
    for number in range(5):
        server.responses[f"/{number}.pdf"] = file_response(text_pdf([f"Report number {number}."]))
        urls.append(f"{server.url}/{number}.pdf")
    (tmp_path / "names").write_text("\n".join(urls))
    assert ingest(home, f"@{tmp_path / 'names'}")["done"] == 5
    assert sorted(target for target, _ in server.requests) == [f"/{n}.pdf" for n in range(5)]


def test_a_file_that_changed_is_read_again(server: HttpServer, home: Path) -> None:
    url = f"{server.url}/list/a.pdf"
    for number in (1, 2, 2):
        server.responses["/list/a.pdf"] = file_response(text_pdf([f"Version {number} of it."]))
        ingest(home, url)
    assert len(files_of(home)) == 2


def test_an_unavailable_url_is_one_failure_and_the_rest_ingested(
    server: HttpServer, home: Path, tmp_path: Path
) -> None:
    records = [http_response(b"<html>A page of the server.</html>", url="http://a.example/")]
    server.responses["/w/crawl.warc.gz"] = file_response(gzip_records(records))
    server.responses["/w/refused.pdf"] = CannedResponse(403)
    names = tmp_path / "names"
    files = ("missing.pdf", "refused.pdf", "crawl.warc.gz")
    urls = [f"{server.url}/w/{name}" for name in files]
    names.write_text("\n".join(urls))
    last = ingest(home, f"@{names}")
    assert last["quarantined"]["missing-source"] == 1
    assert last["quarantined"]["unreadable-source"] == 1
    assert last["in"] == 3
    failed = {
        line["url"]: line["reason"] for line in fonds(home, "failures", "--list", "--json").lines
    }
    assert failed == {urls[0]: "missing-source", urls[1]: "unreadable-source"}
    assert fonds(home, "audit", "--deep").code == 0


def test_private_addresses_are_refused_without_the_setting(server: HttpServer, home: Path) -> None:
    server.responses["/a.pdf"] = file_response(text_pdf(["Nobody may read this."]))
    result = fonds(home, "ingest", "--json", f"{server.url}/a.pdf")
    assert result.code == 1
    assert result.last["quarantined"] == {"unreadable-source": 1}
    assert server.requests == []
    (failed,) = fonds(home, "failures", "--list", "--json").lines
    hint = re.search(r"set (\S+=\S+)", failed["detail"])
    assert hint, failed["detail"]
    allowed = fonds(home, "ingest", "--set", hint[1], "--json", f"{server.url}/a.pdf")
    assert (allowed.code, allowed.last["done"]) == (0, 1), allowed.err


def test_a_url_with_a_password_is_refused(home: Path) -> None:
    result = fonds(home, "ingest", "https://me:secret@a.example/a.pdf")
    assert result.code == 2
    assert "secret" not in result.err + result.out


def test_an_index_at_a_url_is_backfilled_like_a_local_one(
    server: HttpServer, tmp_path: Path
) -> None:
    write_sample(tmp_path / "crawl")
    index = tmp_path / "crawl" / "indexed" / "captures.cdx"
    server.responses["/indexes/captures.cdx"] = file_response(index.read_bytes())
    url = f"{server.url}/indexes/captures.cdx"
    local, remote = tmp_path / "local", tmp_path / "remote"
    expected = call(local, "backfill", "cdx", "--json", index).last
    summaries = [call(remote, "backfill", "cdx", "--json", url, **PRIVATE).last for _ in range(2)]
    assert expected["counts"]["captures"] > 0
    assert [{**summary, "seconds": 0} for summary in summaries] == [{**expected, "seconds": 0}] * 2
    rows = [call(home, "table", "scan", "--json").out for home in (local, remote)]
    assert rows[0] == rows[1] != ""
    assert call(remote, "audit", "--deep").code == 0
    missing = call(remote, "backfill", "cdx", f"{server.url}/gone.cdx", **PRIVATE)
    assert missing.code == 2
    assert "gone.cdx: the server responded with 404" in missing.err
    assert "Traceback" not in missing.err


WARC_NAMES = ("crawl-0.warc.gz", "crawl-1.warc.gz")
ONE_WORKER = ("--workers", "1")


def extract(home: Path, *words: str | Path) -> dict[str, Any]:
    result = fonds(home, "backfill", "extract", "--json", *words, **PRIVATE)
    assert result.code in (0, 1), result.err
    return {**result.last, "seconds": 0}


def test_warcs_at_urls_are_extracted_like_local_ones(server: HttpServer, tmp_path: Path) -> None:
    crawl = tmp_path / "item"
    for path in write_warcs(crawl)[len(WARC_NAMES) :]:
        path.unlink()
    urls = serve_folder(server, crawl)
    assert [url.rpartition("/")[2] for url in urls] == list(WARC_NAMES)
    local, remote = tmp_path / "local", tmp_path / "remote"
    for to in (("parquet", "--out"), ("stores",)):
        outs = [[tmp_path / f"out-{home.name}"] if len(to) == 2 else [] for home in (local, remote)]
        expected = extract(local, *ONE_WORKER, "--to", *to, *outs[0], crawl)
        server.requests.clear()
        summary = extract(remote, "--to", *to, *outs[1], *urls)
        assert summary == expected
        assert expected["records"] == sum(OUTCOMES.values()) // WARCS * len(WARC_NAMES)
        # Files in the inbox are not sent again: one request confirms that they are unchanged.
        assert len(server.requests) == len(urls)
    assert extract(remote, *ONE_WORKER, "--to", *to, *outs[1], *urls) == expected
    remote_rows, local_rows = (
        rows_in(tmp_path / f"out-{name}", "files") for name in ("remote", "local")
    )
    # Among captures with equal body and time, the name of the input decides which one is read.
    columns = ("sha1hex", "status", "title", "text", "thumbnail")
    assert [[row[name] for name in columns] for row in remote_rows] == [
        [row[name] for name in columns] for row in local_rows
    ]
    warcs = {row["warc_path"] for row in rows_in(tmp_path / "out-remote", "captures")}
    assert warcs == set(urls)
    assert files_of(remote) == files_of(local)
    audit = fonds(remote, "audit", "--deep", "--json", **PRIVATE)
    assert audit.code == 0, audit.out


def test_a_url_that_is_missing_or_not_a_warc_is_reported(
    server: HttpServer, tmp_path: Path
) -> None:
    server.responses["/notes.txt"] = file_response(b"these are notes")
    home, out = tmp_path / "home", tmp_path / "out"
    words = ("backfill", "extract", "--to", "parquet", "--out", out)
    result = call(home, *words, f"{server.url}/notes.txt", **PRIVATE)
    assert result.code == 2
    assert "notes.txt is not a WARC and is skipped" in result.err
    assert [path for path in (home / "inbox").rglob("*") if path.is_file()] == []
    result = call(home, *words, f"{server.url}/gone.warc.gz", **PRIVATE)
    assert result.code == 2
    assert "gone.warc.gz: the server responded with 404" in result.err
    assert not out.exists()


def test_every_command_that_reads_files_reads_urls(
    server: HttpServer, home: Path, tmp_path: Path
) -> None:
    def offer(name: str, body: bytes) -> str:
        server.responses[f"/{name}"] = file_response(body)
        return f"{server.url}/{name}"

    def run_fonds(*words: str) -> CommandResult:
        server.requests.clear()
        done = fonds(home, *words, **PRIVATE)
        assert done.code == 0, (words, done.out, done.err)
        assert len(server.requests) == sum("://" in word for word in words), words
        return done

    work = {"DOI": "10.5555/River.1", "title": ["On the slow meandering of lowland rivers"]}
    catalog = offer("works.json", json.dumps({"items": [work]}).encode())
    assert run_fonds("catalog", "load", "--json", catalog).last["loaded"] == {"crossref": 1}
    assert run_fonds("catalog", "load", "--json", catalog).last["loaded"] == {"crossref": 1}
    strings = offer("strings.txt", b"On the slow meandering of lowland rivers. doi:10.5555/River.1")
    assert run_fonds("match", "strings", strings).last["reference"].startswith("On the slow")
    answer = {"id": "a1", "text": "The river rose and the bridge was closed.", "title": "Flood"}
    answers = offer("answers.jsonl", json.dumps(answer).encode())
    assert run_fonds("collection", "add", "survey/answers", "--json", answers).last["added"] == 1
    opml = b'<opml version="2.0"><body><outline xmlUrl="https://a.example/feed"/></body></opml>'
    run_fonds("sources", "import", offer("feeds.opml", opml))
    assert "https://a.example/feed" in run_fonds("sources", "list", "--json").out

    body = text_pdf(["A report that is kept."])
    assert ingest(home, offer("kept.pdf", body))["done"] == 1
    dump = tmp_path / "rows.jsonl"
    run_fonds("table", "export", str(dump))
    assert run_fonds("table", "import", "--json", offer("rows.jsonl", dump.read_bytes())).last[
        "rows"
    ]
    run_fonds("ingest", "--enter-only", offer("waits.pdf", text_pdf(["One that waits."])))
    messages = tmp_path / "waiting.warc.gz"
    run_fonds("queue", "dump", "identify", str(messages))
    run_fonds("queue", "load", offer("waiting.warc.gz", messages.read_bytes()))
    assert ingest(home, offer("last.pdf", text_pdf(["The last one."])))["done"] >= 1
    assert fonds(home, "audit", "--deep").code == 0
    inbox = {path.name for path in (home / "inbox").rglob("*") if path.is_file()}
    assert inbox == {"kept.pdf", "waits.pdf", "last.pdf"}


def test_every_command_reports_an_unavailable_url(server: HttpServer, home: Path) -> None:
    missing_url = f"{server.url}/gone"
    ingest(home, f"{server.url}/nothing.pdf")
    for words in (
        ("catalog", "load"),
        ("collection", "add", "survey/answers"),
        ("sources", "import"),
        ("table", "import"),
        ("queue", "load"),
    ):
        result = call(home, *words, missing_url, **PRIVATE)
        assert result.code in (1, 2), (words, result.err)
        assert "/gone: the server responded with 404" in result.err
        assert "Traceback" not in result.err
        secret = call(home, *words, "https://me:secret@a.example/x", **PRIVATE)
        assert secret.code == 2
        assert "secret" not in secret.err + secret.out
