"""Lists of links in buckets of a real S3 server: named whole, by their beginning, and what is not there."""

from __future__ import annotations

import gzip
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import obstore
import pytest

from fonds.config import load_settings
from fonds.model.errors import PermanentError
from fonds.stores.s3.address import open_store, parse_address
from fonds.wiring.backends import open_web, s3_objects
from fonds.wiring.elsewhere.remote_files import RemoteFiles
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
    settings = load_settings(tmp_path).changed(elsewhere_s3_url=server)
    remotes = RemoteFiles(open_web(settings), s3_objects(tmp_path, settings))
    begun = f"s3://{address.bucket}/{folder}/"

    found = list(remotes.find(f"{begun}2023-11*"))
    assert [one.url for one in found] == [f"{begun}2023-11-04.csv.gz", f"{begun}2023-11-05.csv"]
    assert [one.size_bytes for one in found] == [len(body) for body in list(bodies.values())[:2]]
    assert all(one.version and one.error is None for one in found)
    assert len(list(remotes.find(f"{begun}*"))) == 3
    (one,) = remotes.find(f"{begun}2023-11-05.csv")
    assert one == found[1]
    (none,) = remotes.find(f"{begun}2024*")
    assert none.missing
    for one in found:
        fetched = remotes.fetched(one.url, tmp_path / "inbox" / "list")
        assert fetched.read_bytes() == bodies[one.url.rpartition("/")[2]]
        fetched.unlink()
    with pytest.raises(PermanentError, match="no such object"):
        remotes.fetched(f"{begun}nowhere.csv", tmp_path / "inbox" / "list")
    (refused,) = remotes.find("s3://bucket-of-nobody-here/x*")
    assert refused.error
