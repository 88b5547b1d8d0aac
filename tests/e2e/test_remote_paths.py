"""Files behind URLs are taken in as the same files of this machine are, and each is fetched once."""

from __future__ import annotations

import json
import re
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import quote

from e2e.running import CommandResult, adds_up, call, fonds
from fixtures.answering import Answering, Given
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response
from made_warcs import OUTCOMES, WARCS, rows_in, write_warcs
from sample import write_sample

PRIVATE = {"FONDS_ELSEWHERE_PRIVATE_ADDRESSES": "true"}


def file(body: bytes, **headers: str) -> Given:
    """A file as a server with ranges and versions gives it."""
    etag = sha1(body, usedforsecurity=False).hexdigest()
    return Given(body=body, headers={"ETag": f'"{etag}"', "Accept-Ranges": "bytes", **headers})


def offered(server: Answering, folder: Path) -> list[str]:
    """The URLs of all files of a folder, which the server offers from now on."""
    names = sorted(one for one in folder.rglob("*") if one.is_file())
    targets = [f"/item/{quote(name.relative_to(folder).as_posix())}" for name in names]
    for path, target in zip(names, targets, strict=True):
        server.answers[target] = file(path.read_bytes())
    return [server.url + one for one in targets]


def taken(home: Path, *words: str | Path) -> dict[str, Any]:
    ran = fonds(home, "ingest", "--json", *words, **PRIVATE)
    assert ran.code in (0, 1), ran.err
    assert adds_up(ran.last)
    last: dict[str, Any] = ran.last
    return last


def files_of(home: Path) -> dict[str, str]:
    """What each file is, by its SHA-1."""
    lines = call(home, "export", "--format", "jsonl").lines
    return {line["sha1hex"]: line["mimetype"] for line in lines}


def test_a_crawl_behind_urls_gives_what_the_same_crawl_in_a_folder_gives(
    server: Answering, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "item"
    write_sample(folder)
    urls = offered(server, folder)
    here = tmp_path / "here"
    local, remote = taken(here, folder), taken(home, *urls)
    assert remote["in"] == local["in"]
    assert remote["quarantined"] == local["quarantined"]
    assert remote["done"] + sum(remote["dropped"].values()) == local["done"] + sum(
        local["dropped"].values()
    )
    assert files_of(home) == files_of(here)
    audit = fonds(home, "audit", "--deep", "--json", **PRIVATE)
    assert audit.code == 0, audit.out
    again = taken(home, *urls)
    assert again["in"] == 0
    assert files_of(home) == files_of(here)


def test_a_file_is_fetched_once_and_shown_by_its_url(server: Answering, home: Path) -> None:
    body = text_pdf(["A report behind a URL."])
    server.answers["/papers/a%20report.pdf"] = file(body)
    url = f"{server.url}/papers/a%20report.pdf"
    assert taken(home, url)["done"] == 1
    assert [target for target, _ in server.asked] == ["/papers/a%20report.pdf"]
    server.answers.clear()
    shown = fonds(home, "show", "--json", url).last
    assert shown["sha1hex"] == sha1(body, usedforsecurity=False).hexdigest()
    assert fonds(home, "audit", "--deep").code == 0
    (hit,) = fonds(home, "search", "--json", "report behind").lines
    assert hit["url"] == url


def test_each_of_many_files_is_asked_for_once(
    server: Answering, home: Path, tmp_path: Path
) -> None:
    urls = []
    for number in range(5):
        server.answers[f"/{number}.pdf"] = file(text_pdf([f"Report number {number}."]))
        urls.append(f"{server.url}/{number}.pdf")
    (tmp_path / "names").write_text("\n".join(urls))
    assert taken(home, f"@{tmp_path / 'names'}")["done"] == 5
    assert sorted(target for target, _ in server.asked) == [f"/{n}.pdf" for n in range(5)]


def test_a_file_that_changed_is_read_again(server: Answering, home: Path) -> None:
    url = f"{server.url}/list/a.pdf"
    for number in (1, 2, 2):
        server.answers["/list/a.pdf"] = file(text_pdf([f"Version {number} of it."]))
        taken(home, url)
    assert len(files_of(home)) == 2


def test_what_cannot_be_had_is_one_failure_and_the_rest_goes_on(
    server: Answering, home: Path, tmp_path: Path
) -> None:
    records = [http_response(b"<html>A page of the server.</html>", url="http://a.example/")]
    server.answers["/w/crawl.warc.gz"] = file(gzipped(records))
    server.answers["/w/refused.pdf"] = Given(403)
    names = tmp_path / "names"
    urls = [f"{server.url}/w/{one}" for one in ("missing.pdf", "refused.pdf", "crawl.warc.gz")]
    names.write_text("\n".join(urls))
    last = taken(home, f"@{names}")
    assert last["quarantined"]["missing-source"] == 1
    assert last["quarantined"]["unreadable-source"] == 1
    assert last["in"] == 3
    failed = {
        line["url"]: line["reason"] for line in fonds(home, "failures", "--list", "--json").lines
    }
    assert failed == {urls[0]: "missing-source", urls[1]: "unreadable-source"}
    assert fonds(home, "audit", "--deep").code == 0


def test_private_addresses_are_refused_without_the_setting(server: Answering, home: Path) -> None:
    server.answers["/a.pdf"] = file(text_pdf(["Nobody may read this."]))
    ran = fonds(home, "ingest", "--json", f"{server.url}/a.pdf")
    assert ran.code == 1
    assert ran.last["quarantined"] == {"unreadable-source": 1}
    assert server.asked == []
    (failed,) = fonds(home, "failures", "--list", "--json").lines
    hint = re.search(r"set (\S+=\S+)", failed["detail"])
    assert hint, failed["detail"]
    again = fonds(home, "ingest", "--set", hint[1], "--json", f"{server.url}/a.pdf")
    assert (again.code, again.last["done"]) == (0, 1), again.err


def test_a_url_with_a_password_is_refused(home: Path) -> None:
    ran = fonds(home, "ingest", "https://me:secret@a.example/a.pdf")
    assert ran.code == 2
    assert "secret" not in ran.err + ran.out


def test_an_index_behind_a_url_is_backfilled_as_one_of_this_machine_is(
    server: Answering, tmp_path: Path
) -> None:
    write_sample(tmp_path / "crawl")
    index = tmp_path / "crawl" / "indexed" / "captures.cdx"
    server.answers["/indexes/captures.cdx"] = file(index.read_bytes())
    url = f"{server.url}/indexes/captures.cdx"
    local, remote = tmp_path / "local", tmp_path / "remote"
    expected = call(local, "backfill", "cdx", "--json", index).last
    told = [call(remote, "backfill", "cdx", "--json", url, **PRIVATE).last for _ in range(2)]
    assert expected["counts"]["captures"] > 0
    assert [{**one, "seconds": 0} for one in told] == [{**expected, "seconds": 0}] * 2
    rows = [call(home, "table", "scan", "--json").out for home in (local, remote)]
    assert rows[0] == rows[1] != ""
    assert call(remote, "audit", "--deep").code == 0
    gone = call(remote, "backfill", "cdx", f"{server.url}/gone.cdx", **PRIVATE)
    assert gone.code == 2
    assert "gone.cdx: the server responded with 404" in gone.err
    assert "Traceback" not in gone.err


WARC_NAMES = ("crawl-0.warc.gz", "crawl-1.warc.gz")
ONE_WORKER = ("--workers", "1")


def extracted(home: Path, *words: str | Path) -> dict[str, Any]:
    ran = fonds(home, "backfill", "extract", "--json", *words, **PRIVATE)
    assert ran.code in (0, 1), ran.err
    return {**ran.last, "seconds": 0}


def test_warcs_behind_urls_are_extracted_as_those_of_this_machine_are(
    server: Answering, tmp_path: Path
) -> None:
    crawl = tmp_path / "item"
    for path in write_warcs(crawl)[len(WARC_NAMES) :]:
        path.unlink()
    urls = offered(server, crawl)
    assert [url.rpartition("/")[2] for url in urls] == list(WARC_NAMES)
    local, remote = tmp_path / "local", tmp_path / "remote"
    for to in (("parquet", "--out"), ("stores",)):
        outs = [[tmp_path / f"out-{one.name}"] if len(to) == 2 else [] for one in (local, remote)]
        expected = extracted(local, *ONE_WORKER, "--to", *to, *outs[0], crawl)
        server.asked.clear()
        told = extracted(remote, "--to", *to, *outs[1], *urls)
        assert told == expected
        assert expected["records"] == sum(OUTCOMES.values()) // WARCS * len(WARC_NAMES)
        # What lies in the inbox is not sent again: one request says that it is the same.
        assert len(server.asked) == len(urls)
    assert extracted(remote, *ONE_WORKER, "--to", *to, *outs[1], *urls) == expected
    mine, others = (rows_in(tmp_path / f"out-{one}", "files") for one in ("remote", "local"))
    # Of captures of one body and time, which one is read goes by ids that are made of the input's name.
    told = ("sha1hex", "status", "title", "text", "thumbnail")
    assert [[one[name] for name in told] for one in mine] == [
        [one[name] for name in told] for one in others
    ]
    warcs = {one["warc_path"] for one in rows_in(tmp_path / "out-remote", "captures")}
    assert warcs == set(urls)
    assert files_of(remote) == files_of(local)
    audit = fonds(remote, "audit", "--deep", "--json", **PRIVATE)
    assert audit.code == 0, audit.out


def test_what_is_no_warc_or_not_there_is_said(server: Answering, tmp_path: Path) -> None:
    server.answers["/notes.txt"] = file(b"these are notes")
    home, out = tmp_path / "home", tmp_path / "out"
    words = ("backfill", "extract", "--to", "parquet", "--out", out)
    ran = call(home, *words, f"{server.url}/notes.txt", **PRIVATE)
    assert ran.code == 2
    assert "notes.txt is not a WARC and is skipped" in ran.err
    assert [one for one in (home / "inbox").rglob("*") if one.is_file()] == []
    ran = call(home, *words, f"{server.url}/gone.warc.gz", **PRIVATE)
    assert ran.code == 2
    assert "gone.warc.gz: the server responded with 404" in ran.err
    assert not out.exists()


def test_every_command_that_reads_a_file_reads_it_behind_a_url(
    server: Answering, home: Path, tmp_path: Path
) -> None:
    def offer(name: str, body: bytes) -> str:
        server.answers[f"/{name}"] = file(body)
        return f"{server.url}/{name}"

    def ran(*words: str) -> CommandResult:
        server.asked.clear()
        done = fonds(home, *words, **PRIVATE)
        assert done.code == 0, (words, done.out, done.err)
        assert len(server.asked) == sum("://" in word for word in words), words
        return done

    work = {"DOI": "10.5555/River.1", "title": ["On the slow meandering of lowland rivers"]}
    catalog = offer("works.json", json.dumps({"items": [work]}).encode())
    assert ran("catalog", "load", "--json", catalog).last["loaded"] == {"crossref": 1}
    assert ran("catalog", "load", "--json", catalog).last["loaded"] == {"crossref": 1}
    strings = offer("strings.txt", b"On the slow meandering of lowland rivers. doi:10.5555/River.1")
    assert ran("match", "strings", strings).last["reference"].startswith("On the slow")
    answer = {"id": "a1", "text": "The river rose and the bridge was closed.", "title": "Flood"}
    answers = offer("answers.jsonl", json.dumps(answer).encode())
    assert ran("collection", "add", "survey/answers", "--json", answers).last["added"] == 1
    opml = b'<opml version="2.0"><body><outline xmlUrl="https://a.example/feed"/></body></opml>'
    ran("sources", "import", offer("feeds.opml", opml))
    assert "https://a.example/feed" in ran("sources", "list", "--json").out

    body = text_pdf(["A report that is kept."])
    assert taken(home, offer("kept.pdf", body))["done"] == 1
    dump = tmp_path / "rows.jsonl"
    ran("table", "export", str(dump))
    assert ran("table", "import", "--json", offer("rows.jsonl", dump.read_bytes())).last["rows"]
    ran("ingest", "--enter-only", offer("waits.pdf", text_pdf(["One that waits."])))
    messages = tmp_path / "waiting.warc.gz"
    ran("queue", "dump", "identify", str(messages))
    ran("queue", "load", offer("waiting.warc.gz", messages.read_bytes()))
    assert taken(home, offer("last.pdf", text_pdf(["The last one."])))["done"] >= 1
    assert fonds(home, "audit", "--deep").code == 0
    inbox = {one.name for one in (home / "inbox").rglob("*") if one.is_file()}
    assert inbox == {"kept.pdf", "waits.pdf", "last.pdf"}


def test_a_file_behind_a_url_that_cannot_be_had_is_told_by_every_command(
    server: Answering, home: Path
) -> None:
    gone = f"{server.url}/gone"
    taken(home, f"{server.url}/nothing.pdf")
    for words in (
        ("catalog", "load"),
        ("collection", "add", "survey/answers"),
        ("sources", "import"),
        ("table", "import"),
        ("queue", "load"),
    ):
        told = call(home, *words, gone, **PRIVATE)
        assert told.code in (1, 2), (words, told.err)
        assert "/gone: the server responded with 404" in told.err
        assert "Traceback" not in told.err
        secret = call(home, *words, "https://me:secret@a.example/x", **PRIVATE)
        assert secret.code == 2
        assert "secret" not in secret.err + secret.out
