"""A takedown removes every byte of a file from our WARCs and changes nothing else."""

from __future__ import annotations

import json
import random
from hashlib import sha1, sha256
from pathlib import Path

from e2e.crawls import page
from e2e.running import fonds
from fixtures.warcs import gzip_records, http_response
from killing import kill_after_changes
from purged_files import holders

REMOVED_PAGE, KILLS, CHANGES, SEED = 2, 8, 12, 20261123


def compute_digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_killed_takedown_completes_and_changes_nothing_else(tmp_path: Path) -> None:
    inputs, home = tmp_path / "inputs", tmp_path / "home"
    inputs.mkdir()
    for number in range(6):
        (inputs / f"{number}.html").write_bytes(page(number))
    crawled = [
        http_response(page(n), url=f"http://news.example/{n}") for n in (REMOVED_PAGE, 10, 11, 12)
    ]
    (inputs / "crawl.warc.gz").write_bytes(gzip_records(crawled))
    assert fonds(home, "ingest", str(inputs)).code in (0, 1)
    before = compute_digests(inputs)
    (warc,) = (home / "archive").glob("*.warc.gz")
    size_bytes = warc.stat().st_size
    assert holders(home / "archive", page(REMOVED_PAGE)) == [warc.name]
    key = sha1(page(REMOVED_PAGE)).hexdigest()
    words = ("takedown", key, "--reason", "privacy", "--yes")
    plan = fonds(home, "takedown", key, "--dry-run", "--json").lines[0]
    assert [entry["name"] for entry in plan["warcs"]] == [warc.name]
    chance = random.Random(SEED)
    killed = [kill_after_changes(home, words, chance.randrange(1, CHANGES)) for _ in range(KILLS)]
    assert any(killed)
    last = fonds(home, *words, "--json")
    assert (last.code, bool(last.last["finished"])) == (0, True)
    assert holders(home, page(REMOVED_PAGE)) == []
    assert compute_digests(inputs) == before
    assert warc.stat().st_size == size_bytes
    assert fonds(home, "archive", "verify").code == 0
    audited = fonds(home, "audit", "--deep")
    assert audited.code == 0, audited.out + audited.err
    for number in (0, 1, 3, 4, 5):
        out = tmp_path / f"{number}.out"
        address = (inputs / f"{number}.html").as_uri()
        assert fonds(home, "archive", "extract", address, "-o", str(out)).code == 0
        assert out.read_bytes() == page(number)
    # The same bytes are ingested again, but not stored.
    (inputs / "again.html").write_bytes(page(REMOVED_PAGE))
    assert fonds(home, "ingest", str(inputs)).code in (0, 1)
    assert holders(home, page(REMOVED_PAGE)) == []
    assert json.loads(fonds(home, "takedown", "--json").out)["sha1hex"] == key
