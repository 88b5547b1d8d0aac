"""An unreadable input is one failure, which ends when the same path is read completely."""

from __future__ import annotations

import gzip
import shutil
from hashlib import sha1
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from depth import partly_nightly
from e2e.running import CommandResult, call, fonds
from e2e.test_remote_paths import PRIVATE, ingest
from filled_home import open_home
from fixtures.http_server import CannedResponse, HttpServer
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response, list_offsets
from fonds.model.keys import encode_sha1_base32
from fonds.web.app import create_app

ORIGIN = "http://localhost:8765"
WARC = gzip_records([http_response(text_pdf(["Found in a WARC."]), url="http://a.example/a.pdf")])
CDX = (
    b" CDX N b a m s k r M S V g\n"
    b"org,example)/ 20170706005950 http://example.org/ text/html 301"
    b" MQHD36X5MNZPWFNMD5LFOYZSFGCHUN3V - - 90 0 crawl.warc.gz\n"
)
FILES = {
    "paper.pdf": text_pdf(["A paper."]),
    "crawl.warc.gz": WARC,
    "index.cdx": CDX,
    "folder/deep/paper.pdf": text_pdf(["A paper in a folder."]),
}


def run_fonds(home: Path, *words: str | Path) -> CommandResult:
    return fonds(home, *words, **PRIVATE)


def count_failures(home: Path) -> tuple[int, int]:
    """Count the listed failures, and the inputs that were not read completely."""
    listed = call(home, "failures", "--list", "--json", **PRIVATE).lines
    groups = call(home, "failures", "--json", **PRIVATE).lines
    inputs = [line for line in groups if "input" in line]
    return len(listed), len(inputs)


def check_clean(home: Path) -> None:
    audit = call(home, "audit", "--deep", "--json", **PRIVATE)
    assert audit.code == 0, audit.out


def write_list(tmp_path: Path, *paths: str | Path) -> str:
    """Write a list of paths, so that a missing path is not a usage error; return the argument."""
    names = tmp_path / "names"
    names.write_text("".join(f"{path}\n" for path in paths))
    return f"@{names}"


def write_file(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)


def test_the_failure_of_a_missing_input_ends_when_it_is_read(home: Path, tmp_path: Path) -> None:
    """The inputs are a paper, a WARC, an index, and a folder with a paper."""
    folder, count = tmp_path / "in", len(FILES)
    words = write_list(tmp_path, *(folder / Path(name).parts[0] for name in FILES))
    assert ingest(home, words)["quarantined"] == {"missing-source": count}
    # A missing input is one failure, however often it is ingested.
    assert ingest(home, words)["quarantined"] == {"missing-source": count}
    assert count_failures(home) == (count, count)
    check_clean(home)
    for name, body in FILES.items():
        write_file(folder / name, body)
    summary = ingest(home, words)
    assert (summary["quarantined"], summary["read_later"]) == ({}, count)
    assert count_failures(home) == (0, 0)
    assert run_fonds(home, "status", "--json").code == 0
    check_clean(home)
    assert ingest(home, words)["in"] == 0
    # The inputs disappear and return.
    shutil.rmtree(folder)
    assert ingest(home, words)["quarantined"] == {"missing-source": count}
    assert count_failures(home) == (count, count)
    for name, body in FILES.items():
        write_file(folder / name, body)
    assert ingest(home, words)["read_later"] == count
    assert count_failures(home) == (0, 0)
    check_clean(home)


def test_retry_reads_the_path_again(home: Path, tmp_path: Path) -> None:
    path, other_path = tmp_path / "in" / "paper.pdf", tmp_path / "in" / "gone.pdf"
    ingest(home, write_list(tmp_path, path, other_path))
    failed_retry = run_fonds(home, "failures", "retry", "--reason", "missing-source", "--json")
    assert failed_retry.code == 1
    assert failed_retry.last["quarantined"] == {"missing-source": 2}
    write_file(path, FILES["paper.pdf"])
    summary = run_fonds(home, "failures", "retry", "--reason", "missing-source", "--json").last
    assert (summary["done"], summary["dropped"]) == (1, {"read-later": 1})
    assert (summary["quarantined"], summary["read_later"]) == ({"missing-source": 1}, 1)
    assert count_failures(home) == (1, 1)
    write_file(other_path, text_pdf(["Another paper."]))
    last_retry = run_fonds(home, "failures", "retry")
    assert last_retry.code == 0, last_retry.out
    assert "a later read succeeded" in last_retry.err
    assert count_failures(home) == (0, 0)
    assert "Nothing in quarantine matches" in run_fonds(home, "failures", "retry").out
    check_clean(home)


def test_a_url_with_status_500_is_read_when_it_recovers(
    server: HttpServer, home: Path, tmp_path: Path
) -> None:
    server.responses["/item/crawl.warc.gz"] = CannedResponse(500)
    url = f"{server.url}/item/crawl.warc.gz"
    assert ingest(home, url)["quarantined"] == {"unreadable-source": 1}
    assert len(server.requests) == 3
    (row,) = run_fonds(home, "failures", "--list", "--json").lines
    assert row["detail"] == "the server responded with 500, after 3 attempts"
    server.responses["/item/crawl.warc.gz"] = CannedResponse(
        body=WARC, headers={"ETag": '"1"'}, missing_bytes=10
    )
    assert ingest(home, url)["quarantined"] == {"unreadable-source": 1}
    server.responses["/item/crawl.warc.gz"] = CannedResponse(body=WARC, headers={"ETag": '"1"'})
    summary = run_fonds(home, "failures", "retry", "--json").last
    assert (summary["done"], summary["read_later"], summary["quarantined"]) == (1, 1, {})
    assert count_failures(home) == (0, 0)
    check_clean(home)


def test_a_truncated_list_of_links_resumes_when_complete(home: Path, tmp_path: Path) -> None:
    lines = "".join(f"https://news.example.org/{number:04}\n" for number in range(3000)).encode()
    path = tmp_path / "urls.csv.gz"
    path.write_bytes(gzip.compress(lines)[:-2000])
    words = ("ingest", "--pipeline", "csv", "--enter-only", "--json", path)
    first = run_fonds(home, *words)
    assert first.code == 1
    second = run_fonds(home, *words)
    assert (second.code, second.last["entered"]) == (1, 0)
    assert count_failures(home) == (0, 1)
    check_clean(home)
    path.write_bytes(gzip.compress(lines))
    third = run_fonds(home, *words)
    assert third.code == 0, third.err
    assert first.last["entered"] + third.last["entered"] == 3000
    assert third.last["read_later"] == 1
    assert count_failures(home) == (0, 0)
    check_clean(home)


def test_accepted_failures_of_inputs_stay_accepted(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "in" / "paper.pdf"
    ingest(home, write_list(tmp_path, path))
    assert run_fonds(home, "failures", "accept", "--reason", "missing-source", "--yes").code == 0
    write_file(path, FILES["paper.pdf"])
    assert ingest(home, path)["done"] == 1
    assert count_failures(home) == (0, 0)
    lines = run_fonds(home, "failures", "--json").lines
    assert lines == [{"reason": "accepted", "count": 1}]
    check_clean(home)


def test_the_failures_page_shows_the_command_that_retries_an_input(
    home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "in" / "paper.pdf"
    ingest(home, write_list(tmp_path, path))
    with open_home(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as client:
        (group,) = client.get("/failures.json").json()["groups"]
        assert group["retry_href"] is None
        page = client.get("/failures").text
        assert group["retry"] in page
        assert "trying again ends the same way" not in page
        retry_page = client.get(f"/failures/retry?pipeline=library&group={group['group']}").text
        assert "Use a command to read this input again" in retry_page
        (row,) = client.get("/records.json?outcome=quarantined").json()["rows"]
        assert row["retry_href"] is None
    write_file(path, FILES["paper.pdf"])
    assert run_fonds(home, *group["retry"].removeprefix("fonds ").split()).code == 0
    with open_home(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as client:
        assert client.get("/failures.json").json()["total"] == 0
        overview = client.get("/api/overview").json()
        assert overview["unaccounted"] == 0
    check_clean(home)


PAPERS = [text_pdf([f"Paper {number} of a crawl."]) for number in range(3)]


def write_index(folder: Path) -> tuple[Path, Path]:
    """Write an index, and the WARC that it names, in different folders."""
    records = [
        gzip_records([http_response(body, url=f"http://a.example/{number}.pdf")])
        for number, body in enumerate(PAPERS)
    ]
    warc, index = folder / "warcs" / "papers.warc.gz", folder / "indexes" / "papers.cdx"
    write_file(warc, b"".join(records))
    lines = [" CDX N b a m s k r M S V g"]
    for number, offset in enumerate(list_offsets(records)):
        digest = encode_sha1_base32(sha1(PAPERS[number], usedforsecurity=False).digest())
        url, size = f"http://a.example/{number}.pdf", len(records[number])
        lines.append(
            f"example,a)/{number}.pdf 20240305060708 {url} application/pdf 200 {digest}"
            f" - - {size} {offset} papers.warc.gz"
        )
    write_file(index, "".join(f"{line}\n" for line in lines).encode())
    return index, warc


@pytest.mark.parametrize("first_base", partly_nightly((None, "elsewhere"), bool))
def test_the_failures_of_an_index_end_when_its_warcs_are_found(
    home: Path, tmp_path: Path, first_base: str | None
) -> None:
    index, warc = write_index(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    base = ("--warc-base", tmp_path / first_base) if first_base else ()
    assert ingest(home, *base, index)["quarantined"] == {"missing-source": len(PAPERS)}
    summary = ingest(home, "--warc-base", warc.parent, index)
    assert (summary["done"], summary["read_later"]) == (len(PAPERS), len(PAPERS))
    assert count_failures(home) == (0, 0)
    status = run_fonds(home, "status", "--json").last
    assert (status["quarantined"], status["dropped"]) == ({}, {"read-later": len(PAPERS)})
    check_clean(home)
    assert ingest(home, "--warc-base", warc.parent, index)["in"] == 0


def test_the_failures_of_an_index_end_when_its_warc_is_ingested(home: Path, tmp_path: Path) -> None:
    index, warc = write_index(tmp_path)
    ingest(home, index)
    assert ingest(home, warc)["read_later"] == len(PAPERS)
    assert count_failures(home) == (0, 0)
    # A failure after a successful read is a new failure.
    warc.rename(tmp_path / "away")
    index.write_bytes(index.read_bytes() + b"\n")
    assert ingest(home, index)["quarantined"] == {"missing-source": len(PAPERS)}
    assert ingest(home, index)["read_later"] == 0
    assert count_failures(home) == (len(PAPERS), 0)
    (tmp_path / "away").rename(warc)
    check_clean(home)


@pytest.mark.parametrize("command", ["ingest", "extract"])
def test_a_base_that_does_not_exist_is_refused(home: Path, tmp_path: Path, command: str) -> None:
    index, _ = write_index(tmp_path)
    refused = run_fonds(home, command, "--warc-base", tmp_path / "nowhere", index)
    assert refused.code == 2
    assert f"--warc-base {tmp_path / 'nowhere'}: no such folder" in refused.err
    assert not home.exists()


def test_a_failure_shows_its_latest_cause(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "in" / "paper.pdf"
    path.parent.mkdir()
    path.symlink_to(path)
    assert ingest(home, path)["quarantined"] == {"unreadable-source": 1}
    assert "symbolic links" in run_fonds(home, "failures", "--list").out
    path.unlink()
    retried = run_fonds(home, "failures", "retry", "--reason", "unreadable-source", "--json")
    assert retried.last["quarantined"] == {"missing-source": 1}
    (row,) = run_fonds(home, "failures", "--list", "--json").lines
    assert (row["reason"], row["detail"]) == ("missing-source", "no such file")
    group, unread = run_fonds(home, "failures", "--json").lines
    assert (group["reason"], group["cause"], group["count"]) == (
        "missing-source",
        "no such file",
        1,
    )
    assert unread["input"]["error"] == "no such file"
    output = run_fonds(home, "show", path.as_uri()).out
    assert "no such file" in output
    assert "symbolic links" not in output
    check_clean(home)
    assert run_fonds(home, "failures", "retry", "--reason", "unreadable-source").code == 0
    write_file(path, FILES["paper.pdf"])
    assert run_fonds(home, "failures", "retry", "--json").last["read_later"] == 1
    assert count_failures(home) == (0, 0)
    check_clean(home)


def test_a_retried_private_url_reports_the_response_of_its_server(
    server: HttpServer, home: Path
) -> None:
    url = f"{server.url}/item/crawl.warc.gz"
    assert fonds(home, "ingest", url).code == 1
    (row,) = run_fonds(home, "failures", "--list", "--json").lines
    assert "is a private address" in row["detail"]
    server.responses["/item/crawl.warc.gz"] = CannedResponse(404)
    retried = run_fonds(home, "failures", "retry", "--json")
    assert retried.last["quarantined"] == {"missing-source": 1}
    (row,) = run_fonds(home, "failures", "--list", "--json").lines
    assert row["detail"] == "the server responded with 404"
    assert "private address" not in run_fonds(home, "show", url).out
    check_clean(home)


def test_repeated_failures_are_not_reported_as_new(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "dangling.pdf").symlink_to("nowhere.pdf")
    assert "1 record ingested in" in run_fonds(home, "ingest", folder).out
    second = run_fonds(home, "ingest", folder)
    assert second.code == 1
    assert second.out.startswith("Nothing new: 1 record failed before and still fails.\n")
    write_file(folder / "paper.pdf", FILES["paper.pdf"])
    output = run_fonds(home, "ingest", folder).out
    assert "1 record ingested in" in output
    assert "\n1 record failed before and still fails.\n" in output
    assert ingest(home, folder)["still_failing"] == 1
    check_clean(home)
