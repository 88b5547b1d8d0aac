"""An input that could not be read is one failure, which ends when the same path is read whole."""

from __future__ import annotations

import gzip
import json
import shutil
from hashlib import sha1
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from depth import partly_nightly
from e2e.running import CommandResult, call, fonds
from e2e.test_remote_paths import PRIVATE, taken
from filled_home import open_home
from fixtures.answering import Answering, Given
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response, offsets
from fonds.model.keys import encode_sha1_base32
from fonds.web.app import create_app

ORIGIN = "http://localhost:8765"
WARC = gzipped([http_response(text_pdf(["Found in a WARC."]), url="http://a.example/a.pdf")])
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


def ran(home: Path, *words: str | Path) -> CommandResult:
    return fonds(home, *words, **PRIVATE)


def failing(home: Path) -> tuple[int, int]:
    """How many failures are listed, and how many inputs that could not be read to their end."""
    listed = call(home, "failures", "--list", "--json", **PRIVATE).lines
    groups = call(home, "failures", "--json", **PRIVATE).lines
    inputs = [line for line in groups if "input" in line]
    return len(listed), len(inputs)


def check_clean(home: Path) -> None:
    audit = call(home, "audit", "--deep", "--json", **PRIVATE)
    assert audit.code == 0, audit.out


def named(tmp_path: Path, *paths: str | Path) -> str:
    """A list, so that what is missing is no mistake of the command line."""
    names = tmp_path / "names"
    names.write_text("".join(f"{path}\n" for path in paths))
    return f"@{names}"


def lay(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)


def test_the_failure_of_what_was_missing_ends_when_it_is_read(home: Path, tmp_path: Path) -> None:
    """A paper, a WARC, an index, and a paper in a folder that is missing too."""
    folder, count = tmp_path / "in", len(FILES)
    words = named(tmp_path, *(folder / Path(name).parts[0] for name in FILES))
    assert taken(home, words)["quarantined"] == {"missing-source": count}
    # As long as it is missing it is one failure, however often it is named.
    assert taken(home, words)["quarantined"] == {"missing-source": count}
    assert failing(home) == (count, count)
    check_clean(home)
    for name, body in FILES.items():
        lay(folder / name, body)
    told = taken(home, words)
    assert (told["quarantined"], told["read_later"]) == ({}, count)
    assert failing(home) == (0, 0)
    assert ran(home, "status", "--json").code == 0
    check_clean(home)
    assert taken(home, words)["in"] == 0
    # It goes away and comes back.
    shutil.rmtree(folder)
    assert taken(home, words)["quarantined"] == {"missing-source": count}
    assert failing(home) == (count, count)
    for name, body in FILES.items():
        lay(folder / name, body)
    assert taken(home, words)["read_later"] == count
    assert failing(home) == (0, 0)
    check_clean(home)


def test_retry_reads_the_path_again(home: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "in" / "paper.pdf", tmp_path / "in" / "gone.pdf"
    taken(home, named(tmp_path, path, other))
    still = ran(home, "failures", "retry", "--reason", "missing-source", "--json")
    assert still.code == 1
    assert still.last["quarantined"] == {"missing-source": 2}
    lay(path, FILES["paper.pdf"])
    told = ran(home, "failures", "retry", "--reason", "missing-source", "--json").last
    assert (told["done"], told["dropped"]) == (1, {"read-later": 1})
    assert (told["quarantined"], told["read_later"]) == ({"missing-source": 1}, 1)
    assert failing(home) == (1, 1)
    lay(other, text_pdf(["Another paper."]))
    said = ran(home, "failures", "retry")
    assert said.code == 0, said.out
    assert "a later read succeeded" in said.err
    assert failing(home) == (0, 0)
    assert "Nothing in quarantine matches" in ran(home, "failures", "retry").out
    check_clean(home)


def test_a_url_that_answers_500_is_read_when_it_answers(
    server: Answering, home: Path, tmp_path: Path
) -> None:
    server.answers["/item/crawl.warc.gz"] = Given(500)
    url = f"{server.url}/item/crawl.warc.gz"
    assert taken(home, url)["quarantined"] == {"unreadable-source": 1}
    assert len(server.asked) == 3
    (row,) = ran(home, "failures", "--list", "--json").lines
    assert row["detail"] == "the server responded with 500, after 3 attempts"
    server.answers["/item/crawl.warc.gz"] = Given(body=WARC, headers={"ETag": '"1"'}, cut=10)
    assert taken(home, url)["quarantined"] == {"unreadable-source": 1}
    server.answers["/item/crawl.warc.gz"] = Given(body=WARC, headers={"ETag": '"1"'})
    told = ran(home, "failures", "retry", "--json").last
    assert (told["done"], told["read_later"], told["quarantined"]) == (1, 1, {})
    assert failing(home) == (0, 0)
    check_clean(home)


def test_a_list_of_links_that_was_cut_off_is_read_on(home: Path, tmp_path: Path) -> None:
    lines = "".join(f"https://news.example.org/{number:04}\n" for number in range(3000)).encode()
    path = tmp_path / "urls.csv.gz"
    path.write_bytes(gzip.compress(lines)[:-2000])
    words = ("ingest", "--pipeline", "csv", "--enter-only", "--json", path)
    first = ran(home, *words)
    assert first.code == 1
    again = ran(home, *words)
    assert (again.code, again.last["entered"]) == (1, 0)
    assert failing(home) == (0, 1)
    check_clean(home)
    path.write_bytes(gzip.compress(lines))
    whole = ran(home, *words)
    assert whole.code == 0, whole.err
    assert first.last["entered"] + whole.last["entered"] == 3000
    assert whole.last["read_later"] == 1
    assert failing(home) == (0, 0)
    check_clean(home)


def test_accepted_failures_of_inputs_stay_accepted(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "in" / "paper.pdf"
    taken(home, named(tmp_path, path))
    assert ran(home, "failures", "accept", "--reason", "missing-source", "--yes").code == 0
    lay(path, FILES["paper.pdf"])
    assert taken(home, path)["done"] == 1
    assert failing(home) == (0, 0)
    lines = [json.loads(one) for one in ran(home, "failures", "--json").out.splitlines()]
    assert lines == [{"reason": "accepted", "count": 1}]
    check_clean(home)


def test_the_page_names_the_command_that_reads_an_input_again(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "in" / "paper.pdf"
    taken(home, named(tmp_path, path))
    with open_home(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as client:
        (group,) = client.get("/failures.json").json()["groups"]
        assert group["retry_href"] is None
        page = client.get("/failures").text
        assert group["retry"] in page
        assert "trying again ends the same way" not in page
        asked = client.get(f"/failures/retry?pipeline=library&group={group['group']}").text
        assert "Use a command to read this input again" in asked
        (row,) = client.get("/records.json?outcome=quarantined").json()["rows"]
        assert row["retry_href"] is None
    lay(path, FILES["paper.pdf"])
    assert ran(home, *group["retry"].removeprefix("fonds ").split()).code == 0
    with open_home(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as client:
        assert client.get("/failures.json").json()["total"] == 0
        overview = client.get("/api/overview").json()
        assert overview["unaccounted"] == 0
    check_clean(home)


PAPERS = [text_pdf([f"Paper {number} of a crawl."]) for number in range(3)]


def lay_index(folder: Path) -> tuple[Path, Path]:
    """An index, and the WARC that it names in another folder."""
    records = [
        gzipped([http_response(body, url=f"http://a.example/{number}.pdf")])
        for number, body in enumerate(PAPERS)
    ]
    warc, index = folder / "warcs" / "papers.warc.gz", folder / "indexes" / "papers.cdx"
    lay(warc, b"".join(records))
    lines = [" CDX N b a m s k r M S V g"]
    for number, offset in enumerate(offsets(records)):
        digest = encode_sha1_base32(sha1(PAPERS[number], usedforsecurity=False).digest())
        url, size = f"http://a.example/{number}.pdf", len(records[number])
        lines.append(
            f"example,a)/{number}.pdf 20240305060708 {url} application/pdf 200 {digest}"
            f" - - {size} {offset} papers.warc.gz"
        )
    lay(index, "".join(f"{line}\n" for line in lines).encode())
    return index, warc


@pytest.mark.parametrize("first_base", partly_nightly((None, "elsewhere"), bool))
def test_the_failures_of_an_index_end_when_its_warcs_are_found(
    home: Path, tmp_path: Path, first_base: str | None
) -> None:
    index, warc = lay_index(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    base = ("--warc-base", tmp_path / first_base) if first_base else ()
    assert taken(home, *base, index)["quarantined"] == {"missing-source": len(PAPERS)}
    told = taken(home, "--warc-base", warc.parent, index)
    assert (told["done"], told["read_later"]) == (len(PAPERS), len(PAPERS))
    assert failing(home) == (0, 0)
    status = ran(home, "status", "--json").last
    assert (status["quarantined"], status["dropped"]) == ({}, {"read-later": len(PAPERS)})
    check_clean(home)
    assert taken(home, "--warc-base", warc.parent, index)["in"] == 0


def test_the_failures_of_an_index_end_when_its_warc_is_taken_in(home: Path, tmp_path: Path) -> None:
    index, warc = lay_index(tmp_path)
    taken(home, index)
    assert taken(home, warc)["read_later"] == len(PAPERS)
    assert failing(home) == (0, 0)
    # What fails after it was read before is a failure of its own.
    warc.rename(tmp_path / "away")
    index.write_bytes(index.read_bytes() + b"\n")
    assert taken(home, index)["quarantined"] == {"missing-source": len(PAPERS)}
    assert taken(home, index)["read_later"] == 0
    assert failing(home) == (len(PAPERS), 0)
    (tmp_path / "away").rename(warc)
    check_clean(home)


@pytest.mark.parametrize("command", ["ingest", "extract"])
def test_a_base_that_does_not_exist_is_refused(home: Path, tmp_path: Path, command: str) -> None:
    index, _ = lay_index(tmp_path)
    refused = ran(home, command, "--warc-base", tmp_path / "nowhere", index)
    assert refused.code == 2
    assert f"--warc-base {tmp_path / 'nowhere'}: no such folder" in refused.err
    assert not home.exists()


def test_a_failure_says_its_latest_cause(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "in" / "paper.pdf"
    path.parent.mkdir()
    path.symlink_to(path)
    assert taken(home, path)["quarantined"] == {"unreadable-source": 1}
    assert "symbolic links" in ran(home, "failures", "--list").out
    path.unlink()
    retried = ran(home, "failures", "retry", "--reason", "unreadable-source", "--json")
    assert retried.last["quarantined"] == {"missing-source": 1}
    (row,) = ran(home, "failures", "--list", "--json").lines
    assert (row["reason"], row["detail"]) == ("missing-source", "no such file")
    group, unread = ran(home, "failures", "--json").lines
    assert (group["reason"], group["cause"], group["count"]) == (
        "missing-source",
        "no such file",
        1,
    )
    assert unread["input"]["error"] == "no such file"
    shown = ran(home, "show", path.as_uri()).out
    assert "no such file" in shown
    assert "symbolic links" not in shown
    check_clean(home)
    assert ran(home, "failures", "retry", "--reason", "unreadable-source").code == 0
    lay(path, FILES["paper.pdf"])
    assert ran(home, "failures", "retry", "--json").last["read_later"] == 1
    assert failing(home) == (0, 0)
    check_clean(home)


def test_a_url_that_may_be_read_now_says_what_its_server_answers(
    server: Answering, home: Path
) -> None:
    url = f"{server.url}/item/crawl.warc.gz"
    assert fonds(home, "ingest", url).code == 1
    (row,) = ran(home, "failures", "--list", "--json").lines
    assert "is a private address" in row["detail"]
    server.answers["/item/crawl.warc.gz"] = Given(404)
    retried = ran(home, "failures", "retry", "--json")
    assert retried.last["quarantined"] == {"missing-source": 1}
    (row,) = ran(home, "failures", "--list", "--json").lines
    assert row["detail"] == "the server responded with 404"
    assert "private address" not in ran(home, "show", url).out
    check_clean(home)


def test_what_failed_before_is_not_told_as_new(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "dangling.pdf").symlink_to("nowhere.pdf")
    assert "1 record ingested in" in ran(home, "ingest", folder).out
    again = ran(home, "ingest", folder)
    assert again.code == 1
    assert again.out.startswith("Nothing new: 1 record failed before and still fails.\n")
    lay(folder / "paper.pdf", FILES["paper.pdf"])
    both = ran(home, "ingest", folder).out
    assert "1 record ingested in" in both
    assert "\n1 record failed before and still fails.\n" in both
    assert taken(home, folder)["still_failing"] == 1
    check_clean(home)
