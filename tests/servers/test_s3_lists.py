"""Files in buckets of a real S3 server: named whole, by their beginning, and what is not there."""

from __future__ import annotations

import gzip
import secrets
from hashlib import sha1
from pathlib import Path
from urllib.parse import urlsplit

import obstore
import pytest

from e2e.crawls import page
from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response
from fonds.config import load_settings
from fonds.ingest.sources.remote_files import RemoteFiles
from fonds.model.errors import PermanentError
from fonds.stores.s3.client import open_store, parse_address
from fonds.wiring.stores import create_s3_opener, create_service_client
from real_servers import url_of

pytestmark = pytest.mark.servers


def test_lists_are_found_by_their_beginning_and_fetched_whole(tmp_path: Path) -> None:
    url = url_of("TEST_S3_URL")
    address = parse_address(url)
    folder = f"lists-{secrets.token_hex(6)}/csv"
    bodies = {
        "2023-11-04.csv.gz": gzip.compress(secrets.token_bytes(9_000_000)),
        "2023-11-05.csv": b"url\nhttps://a.example/\n",
        "2023-12-01.csv": b"url\n",
    }
    for name, body in bodies.items():
        obstore.put(open_store(address), f"{folder}/{name}", body)
    server = urlsplit(url)._replace(path="").geturl()
    settings = load_settings(tmp_path).replace_values(elsewhere_s3_url=server)
    remotes = RemoteFiles(create_service_client(settings), create_s3_opener(tmp_path, settings))
    begun = f"s3://{address.bucket}/{folder}/"

    found = list(remotes.find(f"{begun}2023-11*"))
    assert [one.url for one in found] == [f"{begun}2023-11-04.csv.gz", f"{begun}2023-11-05.csv"]
    assert [one.size_bytes for one in found] == [len(body) for body in list(bodies.values())[:2]]
    assert all(one.version and one.error is None for one in found)
    assert len(list(remotes.find(f"{begun}*"))) == 3
    (one,) = remotes.find(f"{begun}2023-11-05.csv")
    assert one == found[1]
    (none,) = remotes.find(f"{begun}2024*")
    assert none.is_missing
    for one in found:
        fetched = remotes.fetch(one.url, tmp_path / "inbox" / "list")
        assert fetched.read_bytes() == bodies[one.url.rpartition("/")[2]]
        fetched.unlink()
    with pytest.raises(PermanentError, match="no such object"):
        remotes.fetch(f"{begun}nowhere.csv", tmp_path / "inbox" / "list")
    (refused,) = remotes.find("s3://bucket-of-nobody-here/x*")
    assert refused.error


def test_a_crawl_in_a_bucket_is_taken_in_by_its_beginning(tmp_path: Path) -> None:
    url = url_of("TEST_S3_URL")
    address = parse_address(url)
    folder = f"crawl-{secrets.token_hex(6)}"
    files = {
        "2026/a/crawl.warc.gz": gzipped([http_response(page(1), url="http://a.example/")]),
        "2026/b/report.pdf": text_pdf(["A report in a bucket."]),
        "2027/later.pdf": text_pdf(["A later report."]),
    }
    for name, body in files.items():
        obstore.put(open_store(address), f"{folder}/{name}", body)
    server = {"FONDS_ELSEWHERE_S3_URL": urlsplit(url)._replace(path="").geturl()}
    home, begun = tmp_path / "home", f"s3://{address.bucket}/{folder}/2026/*"

    ran = fonds(home, "ingest", "--json", begun, **server)
    assert (ran.code, ran.last["in"], ran.last["done"]) == (0, 2, 2), ran.err
    assert fonds(home, "ingest", "--json", begun, **server).last["in"] == 0
    found = {line["sha1hex"] for line in fonds(home, "export", "--format", "jsonl").lines}
    pdf = files["2026/b/report.pdf"]
    assert found == {sha1(one, usedforsecurity=False).hexdigest() for one in (page(1), pdf)}
    shown = fonds(home, "show", "--json", f"{begun.removesuffix('*')}b/report.pdf")
    assert shown.last["sha1hex"] == sha1(pdf, usedforsecurity=False).hexdigest()
    audit = fonds(home, "audit", "--deep", **server)
    assert audit.code == 0, audit.out


def test_warcs_and_catalogue_files_in_a_bucket_are_read_by_their_beginning(tmp_path: Path) -> None:
    url = url_of("TEST_S3_URL")
    address = parse_address(url)
    folder = f"warcs-{secrets.token_hex(6)}"
    work = b'{"DOI": "10.5555/River.1", "title": ["On the slow meandering of rivers"]}\n'
    files = {
        "a/crawl.warc.gz": gzipped([http_response(page(1), url="http://a.example/")]),
        "b/crawl.warc.gz": gzipped([http_response(page(2), url="http://b.example/")]),
        "b/notes.txt": b"these are notes",
        "works/part_000.json.gz": gzip.compress(work),
        "works/readme.txt": b"these are notes",
    }
    for name, body in files.items():
        obstore.put(open_store(address), f"{folder}/{name}", body)
    server = {"FONDS_ELSEWHERE_S3_URL": urlsplit(url)._replace(path="").geturl()}
    home, begun = tmp_path / "home", f"s3://{address.bucket}/{folder}"
    names = tmp_path / "names"
    names.write_text(f"{begun}/a/*\n{begun}/b/*\n")
    words = ("backfill", "extract", "--json", "--workers", "2", f"@{names}", "--to")
    for to in (["parquet", "--out", tmp_path / "out"], ["stores"]):
        ran = fonds(home, *words, *to, **server)
        assert ran.code == 0, ran.err
        assert "notes.txt is not a WARC and is skipped" in ran.err
        told = (ran.last["warcs"], ran.last["ended"]["done"], ran.last["wrong"])
        assert told == (2, 2, []), ran.last
    loaded = fonds(home, "catalog", "load", "--json", f"{begun}/works/*", **server)
    assert (loaded.code, loaded.last["loaded"]) == (0, {"crossref": 1}), loaded.err
    audit = fonds(home, "audit", "--deep", **server)
    assert audit.code == 0, audit.out
