"""A takedown at the command line: no byte of the file is left in our WARCs, and nothing else has changed."""

from __future__ import annotations

import json
import random
from hashlib import sha1, sha256
from pathlib import Path

from e2e.crawls import page
from e2e.running import fonds
from fixtures.warcs import gzipped, http_response
from killing import kill_after_changes
from purged_files import holders

TAKEN, KILLS, CHANGES, SEED = 2, 8, 12, 20261123


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_killed_again_and_again_it_ends_and_touches_nothing_else(tmp_path: Path) -> None:
    inputs, home = tmp_path / "inputs", tmp_path / "home"
    inputs.mkdir()
    for number in range(6):
        (inputs / f"{number}.html").write_bytes(page(number))
    crawled = [http_response(page(n), url=f"http://news.example/{n}") for n in (TAKEN, 10, 11, 12)]
    (inputs / "crawl.warc.gz").write_bytes(gzipped(crawled))
    assert fonds(home, "ingest", str(inputs)).code in (0, 1)
    before = digests(inputs)
    (warc,) = (home / "archive").glob("*.warc.gz")
    size_bytes = warc.stat().st_size
    assert holders(home / "archive", page(TAKEN)) == [warc.name]
    key = sha1(page(TAKEN)).hexdigest()
    words = ("takedown", key, "--reason", "privacy", "--yes")
    looked = fonds(home, "takedown", key, "--dry-run", "--json").lines[0]
    assert [one["name"] for one in looked["warcs"]] == [warc.name]
    chance = random.Random(SEED)
    killed = [kill_after_changes(home, words, chance.randrange(1, CHANGES)) for _ in range(KILLS)]
    assert any(killed)
    last = fonds(home, *words, "--json")
    assert (last.code, bool(last.last["finished"])) == (0, True)
    assert holders(home, page(TAKEN)) == []
    assert digests(inputs) == before
    assert warc.stat().st_size == size_bytes
    assert fonds(home, "archive", "verify").code == 0
    audited = fonds(home, "audit", "--deep")
    assert audited.code == 0, audited.out + audited.err
    for number in (0, 1, 3, 4, 5):
        there = tmp_path / f"{number}.out"
        address = (inputs / f"{number}.html").as_uri()
        assert fonds(home, "archive", "extract", address, "-o", str(there)).code == 0
        assert there.read_bytes() == page(number)
    # Its bytes come again, and go nowhere.
    (inputs / "again.html").write_bytes(page(TAKEN))
    assert fonds(home, "ingest", str(inputs)).code in (0, 1)
    assert holders(home, page(TAKEN)) == []
    assert json.loads(fonds(home, "takedown", "--json").out)["sha1hex"] == key
