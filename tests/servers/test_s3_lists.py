"""Files in buckets of a real S3 server: by full name, by prefix, and missing ones."""

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
from fixtures.warcs import gzip_records, http_response
from fonds.config import load_settings
from fonds.ingest.sources.remote_files import RemoteFiles
from fonds.model.errors import PermanentError
from fonds.stores.s3.client import open_store, parse_address
from fonds.wiring.archive import create_s3_opener, create_service_client
from real_servers import url_of

pytestmark = pytest.mark.servers


def test_lists_are_found_by_prefix_and_fetched_completely(tmp_path: Path) -> None:
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
    prefix = f"s3://{address.bucket}/{folder}/"

    files = list(remotes.find(f"{prefix}2023-11*"))
    assert [file.url for file in files] == [
        f"{prefix}2023-11-04.csv.gz",
        f"{prefix}2023-11-05.csv",
    ]
    assert [file.size_bytes for file in files] == [len(body) for body in list(bodies.values())[:2]]
    assert all(file.version and file.error is None for file in files)
    assert len(list(remotes.find(f"{prefix}*"))) == 3
    (named_file,) = remotes.find(f"{prefix}2023-11-05.csv")
    assert named_file == files[1]
    (missing_file,) = remotes.find(f"{prefix}2024*")
    assert missing_file.is_missing
    for file in files:
        fetched = remotes.fetch(file.url, tmp_path / "inbox" / "list")
        assert fetched.read_bytes() == bodies[file.url.rpartition("/")[2]]
        fetched.unlink()
    with pytest.raises(PermanentError, match="no such object"):
        remotes.fetch(f"{prefix}nowhere.csv", tmp_path / "inbox" / "list")
    (refused,) = remotes.find("s3://bucket-of-nobody-here/x*")
    assert refused.error


def test_a_crawl_in_a_bucket_is_ingested_by_prefix(tmp_path: Path) -> None:
    url = url_of("TEST_S3_URL")
    address = parse_address(url)
    folder = f"crawl-{secrets.token_hex(6)}"
    files = {
        "2026/a/crawl.warc.gz": gzip_records([http_response(page(1), url="http://a.example/")]),
        "2026/b/report.pdf": text_pdf(["A report in a bucket."]),
        "2027/later.pdf": text_pdf(["A later report."]),
    }
    for name, body in files.items():
        obstore.put(open_store(address), f"{folder}/{name}", body)
    server = {"FONDS_ELSEWHERE_S3_URL": urlsplit(url)._replace(path="").geturl()}
    home, prefix = tmp_path / "home", f"s3://{address.bucket}/{folder}/2026/*"

    result = fonds(home, "ingest", "--json", prefix, **server)
    assert (result.code, result.last["in"], result.last["done"]) == (0, 2, 2), result.err
    assert fonds(home, "ingest", "--json", prefix, **server).last["in"] == 0
    sha1hexes = {line["sha1hex"] for line in fonds(home, "export", "--format", "jsonl").lines}
    pdf = files["2026/b/report.pdf"]
    assert sha1hexes == {sha1(body, usedforsecurity=False).hexdigest() for body in (page(1), pdf)}
    file_data = fonds(home, "show", "--json", f"{prefix.removesuffix('*')}b/report.pdf")
    assert file_data.last["sha1hex"] == sha1(pdf, usedforsecurity=False).hexdigest()
    audit = fonds(home, "audit", "--deep", **server)
    assert audit.code == 0, audit.out


def test_warcs_and_catalogue_files_in_a_bucket_are_read_by_prefix(tmp_path: Path) -> None:
    url = url_of("TEST_S3_URL")
    address = parse_address(url)
    folder = f"warcs-{secrets.token_hex(6)}"
    work = b'{"DOI": "10.5555/River.1", "title": ["On the slow meandering of rivers"]}\n'
    files = {
        "a/crawl.warc.gz": gzip_records([http_response(page(1), url="http://a.example/")]),
        "b/crawl.warc.gz": gzip_records([http_response(page(2), url="http://b.example/")]),
        "b/notes.txt": b"these are notes",
        "works/part_000.json.gz": gzip.compress(work),
        "works/readme.txt": b"these are notes",
    }
    for name, body in files.items():
        obstore.put(open_store(address), f"{folder}/{name}", body)
    server = {"FONDS_ELSEWHERE_S3_URL": urlsplit(url)._replace(path="").geturl()}
    home, prefix = tmp_path / "home", f"s3://{address.bucket}/{folder}"
    names = tmp_path / "names"
    names.write_text(f"{prefix}/a/*\n{prefix}/b/*\n")
    words = ("backfill", "extract", "--json", "--workers", "2", f"@{names}", "--to")
    for to in (["parquet", "--out", tmp_path / "out"], ["stores"]):
        result = fonds(home, *words, *to, **server)
        assert result.code == 0, result.err
        assert "notes.txt is not a WARC and is skipped" in result.err
        counts = (result.last["warcs"], result.last["ended"]["done"], result.last["wrong"])
        assert counts == (2, 2, []), result.last
    loaded = fonds(home, "catalog", "load", "--json", f"{prefix}/works/*", **server)
    assert (loaded.code, loaded.last["loaded"]) == (0, {"crossref": 1}), loaded.err
    audit = fonds(home, "audit", "--deep", **server)
    assert audit.code == 0, audit.out
