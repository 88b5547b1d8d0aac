"""Thumbnails in a separate bucket or prefix on a real S3 server, as seen by a plain client."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import urlsplit

import obstore
import pytest

from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fonds.stores.s3.client import open_store, parse_address
from real_servers import url_of

pytestmark = pytest.mark.servers


def test_the_public_prefix_contains_only_thumbnails(tmp_path: Path) -> None:
    url, run = url_of("TEST_S3_URL"), secrets.token_hex(6)
    bucket = parse_address(url).bucket
    private, public = (
        urlsplit(url)._replace(path=f"/{bucket}/{name}-{run}").geturl() for name in ("in", "out")
    )
    (tmp_path / "a.pdf").write_bytes(text_pdf(["A report with a picture of its first page."]))
    stores = {"FONDS_BLOBS": private, "FONDS_THUMBNAILS": public}
    home = tmp_path / "home"
    result = fonds(home, "ingest", tmp_path / "a.pdf", **stores)
    assert result.code == 0, result.err

    def keys(name: str) -> list[str]:
        objects = obstore.list(open_store(parse_address(url)), prefix=f"{name}-{run}").collect()
        return [item["path"] for item in objects]

    (thumbnail,) = keys("out")
    body = obstore.get(open_store(parse_address(url)), thumbnail).bytes()
    assert thumbnail.endswith(".180px.jpg")
    assert bytes(body)[:3] == b"\xff\xd8\xff"
    assert keys("in")
    assert not any(key.endswith(".jpg") for key in keys("in"))
    assert fonds(home, "audit", "--deep", **stores).code == 0
