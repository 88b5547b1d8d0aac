"""Downloads of an older system in a bucket of a real S3 server: by id, compressed, dated by the server."""

from __future__ import annotations

import gzip
import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import obstore
import pytest

from fonds.config import load_settings
from fonds.following.link_rules import build_link
from fonds.model.capture import Capture, RssEntry
from fonds.model.disposition import Reason
from fonds.model.entry import Link
from fonds.model.errors import PermanentError
from fonds.stores.s3.client import open_store, parse_address
from fonds.wiring.archive import create_s3_opener
from fonds.wiring.steps import create_fetch_download
from fonds.wiring.stores import close_stores, open_stores
from real_servers import url_of

pytestmark = pytest.mark.servers


def _count_versions_or_describe_error(objects: Any, url: str) -> int | str:
    try:
        return len(objects.list_versions(url))
    except PermanentError as error:
        return "403" if "(403)" in error.detail else "no 403"


def test_downloads_are_fetched_by_id_and_dated_by_the_server(tmp_path: Path) -> None:
    url = url_of("TEST_S3_URL")
    address = parse_address(url)
    folder = f"downloads-{secrets.token_hex(6)}"
    obstore.put(open_store(address), f"{folder}/5", gzip.compress(b"<p>The harbour froze over."))
    server = urlsplit(url)._replace(path="").geturl()
    settings = load_settings(tmp_path).replace_values(
        elsewhere_s3_url=server, pipeline="historical"
    )

    def link(number: int) -> Link:
        at = f"s3://{address.bucket}/{folder}/{number}"
        link = build_link(at, "poll", RssEntry(link=str(number)))
        return replace(link, final_url="http://a.example/", fetch_timestamp=None)

    stores = open_stores(tmp_path, settings)
    try:
        step = create_fetch_download(stores, settings)
        (capture,) = step(link(5)).items
        assert isinstance(capture, Capture)
        assert abs(capture.captured_at - datetime.now(UTC)) < timedelta(hours=1)
        assert stores.archive.read(capture.place).body == b"<p>The harbour froze over."
        with pytest.raises(PermanentError) as raised:
            step(link(6))
        assert raised.value.reason is Reason.MISSING_SOURCE
        # A server without versions reports that; a server that refuses our signature responds with 403.
        assert _count_versions_or_describe_error(
            create_s3_opener(tmp_path, settings)(), link(5).url
        ) in (
            1,
            "no 403",
        )
    finally:
        close_stores(stores)
