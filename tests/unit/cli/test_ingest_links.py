"""`fonds ingest` into pipelines that begin with links: what would enter, what does, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from calls import Call, CallResult

LINES = ["url", "https://news.example.org/1", "https://news.example.org/2", "https://youtube.com/3"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "urls.csv"
    path.write_text("\n".join(LINES))
    return path


def ingest(call: Call, tmp_path: Path, *words: str) -> CallResult:
    home = str(tmp_path / "home")
    return call("ingest", "--home", home, "--json", "--pipeline", "csv", *words)


def test_a_dry_run_tells_what_would_enter_and_writes_nothing(
    call: Call, tmp_path: Path, table: Path
) -> None:
    told = json.loads(ingest(call, tmp_path, "--dry-run", str(table)).out)
    assert (told["links"], told["others"]) == (2, {"non-news": 1})
    assert told["first"] == LINES[1:3]
    assert not (tmp_path / "home").exists()


def test_links_enter_once_and_a_dry_run_knows_them_then(
    call: Call, tmp_path: Path, table: Path
) -> None:
    first = json.loads(ingest(call, tmp_path, "--enter-only", str(table)).out)
    again = json.loads(ingest(call, tmp_path, "--enter-only", str(table)).out)
    assert (first["entered"], again["entered"]) == (2, 0)
    told = json.loads(ingest(call, tmp_path, "--dry-run", str(table)).out)
    assert (told["known"], told["links"], told["others"]) == (True, 0, {})
    table.write_text("\n".join([*LINES, "https://news.example.org/4"]))
    told = json.loads(ingest(call, tmp_path, "--dry-run", str(table)).out)
    assert (told["links"], told["others"]) == (1, {"known-link": 2, "non-news": 1})


@pytest.mark.parametrize("order", [[], ["--shuffle"]], ids=["in order", "shuffled"])
def test_a_list_that_breaks_off_goes_on_when_it_is_whole(
    call: Call, tmp_path: Path, order: list[str]
) -> None:
    lines = "\n".join(f"https://news.example.org/{number}" for number in range(2_000)).encode()
    path = tmp_path / "urls.csv.gz"
    path.write_bytes(gzip.compress(lines)[:-1_000])
    words = ["--enter-only", *order, str(path)]
    first = ingest(call, tmp_path, *words)
    assert first.code == 1
    begun = json.loads(first.out)["entered"]
    assert 0 < begun < 2_000
    dry = ingest(call, tmp_path, "--dry-run", *order, str(path))
    told = json.loads(dry.out)
    assert (dry.code, told["known"], told["links"]) == (1, False, 0)
    assert told["others"] == {"damaged-record": 1}
    assert json.loads(ingest(call, tmp_path, *words).out)["entered"] == 0
    path.write_bytes(gzip.compress(lines))
    whole = ingest(call, tmp_path, *words)
    last = json.loads(whole.out)
    assert (whole.code, begun + last["entered"], last["read_later"]) == (0, 2_000, 1)


def test_a_dry_run_tells_of_a_missing_list_each_time(
    call: Call, tmp_path: Path, table: Path
) -> None:
    names = tmp_path / "names"
    names.write_text(f"{tmp_path / 'gone.csv'}\n")
    assert ingest(call, tmp_path, "--enter-only", f"@{names}").code == 1
    dry = ingest(call, tmp_path, "--dry-run", f"@{names}")
    told = json.loads(dry.out)
    assert (dry.code, told["known"], told["error"]) == (1, False, "no such file")


def test_so_many_and_then_the_rest(call: Call, tmp_path: Path, table: Path) -> None:
    first = json.loads(ingest(call, tmp_path, "--enter-only", "--max", "1", str(table)).out)
    rest = json.loads(ingest(call, tmp_path, "--enter-only", "--shuffle", str(table)).out)
    assert (first["entered"], rest["entered"]) == (1, 1)


def test_a_list_of_lists_may_name_files_of_other_machines(
    call: Call, tmp_path: Path, table: Path
) -> None:
    names = tmp_path / "names"
    names.write_text(f"{table}\nhttp://127.0.0.1:1/private.csv\n")
    told = ingest(call, tmp_path, "--enter-only", f"@{names}")
    assert told.code == 1
    assert json.loads(told.out)["entered"] == 2
    assert "private address" in told.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ftp://a.example/x",), "http, https and s3"),
        (("https://a:word@a.example/x",), "sources.logins"),
        (("nowhere.csv",), "no such file"),
        (("--sample", "0", "x"), "0"),
    ],
)
def test_bad_input_is_told_in_words(
    call: Call, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    found = ingest(call, tmp_path, *words)
    assert found.code == 2
    assert told in found.err
    assert "word@" not in found.err


def test_a_pipeline_of_captures_takes_no_share_of_links(call: Call, table: Path) -> None:
    found = call("ingest", "--max", "3", str(table))
    assert found.code == 2
    assert "'library' does not" in found.err
