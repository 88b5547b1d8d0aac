"""An input that could not be read is one failure, which ends when the same path is read whole."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from e2e.running import Ran, fonds
from e2e.test_remote_paths import PRIVATE, taken
from filled_home import opened
from fixtures.answering import Answering, Given
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response
from fonds.web.app import create_app

pytestmark = pytest.mark.slow

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


def ran(home: Path, *words: str | Path) -> Ran:
    return fonds(home, *words, **PRIVATE)


def failing(home: Path) -> tuple[int, int]:
    """How many failures are listed, and how many inputs that could not be read to their end."""
    listed = ran(home, "failures", "--list", "--json").lines
    inputs = [one for one in ran(home, "failures", "--json").lines if "input" in one]
    return len(listed), len(inputs)


def check_clean(home: Path) -> None:
    audit = ran(home, "audit", "--deep", "--json")
    assert audit.code == 0, audit.out


def named(tmp_path: Path, *paths: str | Path) -> str:
    """A list, so that what is missing is no mistake of the command line."""
    names = tmp_path / "names"
    names.write_text("".join(f"{one}\n" for one in paths))
    return f"@{names}"


def lay(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)


@pytest.mark.parametrize("name", FILES)
def test_the_failure_of_what_was_missing_ends_when_it_is_read(
    home: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "in" / name
    top = tmp_path / "in" / Path(name).parts[0]
    words = named(tmp_path, top)
    assert taken(home, words)["quarantined"] == {"missing-source": 1}
    # As long as it is missing it is one failure, however often it is named.
    assert taken(home, words)["quarantined"] == {"missing-source": 1}
    assert failing(home) == (1, 1)
    check_clean(home)
    lay(path, FILES[name])
    told = taken(home, words)
    assert (told["quarantined"], told["read_later"]) == ({}, 1)
    assert failing(home) == (0, 0)
    assert ran(home, "status", "--json").code == 0
    check_clean(home)
    assert taken(home, words)["in"] == 0
    # It goes away and comes back.
    path.unlink()
    if top != path:
        path.parent.rmdir()
        top.rmdir()
    assert taken(home, words)["quarantined"] == {"missing-source": 1}
    assert failing(home) == (1, 1)
    lay(path, FILES[name])
    assert taken(home, words)["read_later"] == 1
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
    assert "could not be read before was read now" in said.err
    assert failing(home) == (0, 0)
    assert "Nothing in quarantine fits" in ran(home, "failures", "retry").out
    check_clean(home)


def test_a_url_that_answers_500_is_read_when_it_answers(
    server: Answering, home: Path, tmp_path: Path
) -> None:
    server.answers["/item/crawl.warc.gz"] = Given(500)
    url = f"{server.url}/item/crawl.warc.gz"
    assert taken(home, url)["quarantined"] == {"unreadable-source": 1}
    assert len(server.asked) == 3
    (row,) = ran(home, "failures", "--list", "--json").lines
    assert row["detail"] == "the server answers 500, asked 3 times"
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
    with opened(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as client:
        (group,) = client.get("/failures.json").json()["groups"]
        assert group["retry_href"] is None
        page = client.get("/failures").text
        assert group["retry"] in page
        assert "trying again ends the same way" not in page
        asked = client.get(f"/failures/retry?pipeline=library&group={group['group']}").text
        assert "A command reads this input again" in asked
        (row,) = client.get("/records.json?outcome=quarantined").json()["rows"]
        assert row["retry_href"] is None
    lay(path, FILES["paper.pdf"])
    assert ran(home, *group["retry"].removeprefix("fonds ").split()).code == 0
    with opened(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as client:
        assert client.get("/failures.json").json()["total"] == 0
        overview = client.get("/api/overview").json()
        assert overview["unaccounted"] == 0
    check_clean(home)
