"""Damage done with the client of each server: the audit reports it, and repair restores the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import happybase
import httpx2
import psycopg
import pytest
from obstore.store import S3Store

from deployments import create_deployment, variables
from e2e.running import fonds
from e2e.states import state
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from sample import write_sample

pytestmark = pytest.mark.servers

PARTS = ("outcomes", "files", "pdfs", "stories", "captures", "documents", "indexed", "table")
RESTORED_PARTS = (*PARTS, "blobs")
REQUEST_MAX_S = 30.0


@dataclass(frozen=True)
class Servers:
    """The stores of one home, accessed by the client of each server."""

    home: Path
    settings: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return variables(self.settings)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.settings["records"], autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()

    def get_value(self, statement: str) -> str:
        (row, *_) = self.sql(statement)
        return str(row[0])

    @property
    def pdf(self) -> str:
        return self.get_value(
            "select sha1hex from pdf_meta where has_page0_thumbnail and word_count > 0"
        )

    @property
    def story(self) -> str:
        return self.get_value(
            "select s.sha1hex from story_meta s join cdx c using (sha1hex)"
            " where c.warc_path like '%/%' order by s.sha1hex"
        )

    def bucket(self, store: str) -> S3Store:
        """Open the bucket of a store below its prefix."""
        parts = urlsplit(self.settings[store])
        options = parse_qs(parts.query)
        name, _, prefix = parts.path.strip("/").partition("/")
        return S3Store(
            name,
            prefix=prefix,
            endpoint=f"{options['scheme'][0]}://{parts.hostname}:{parts.port}",
            access_key_id=parts.username,
            secret_access_key=parts.password,
            region=options["region"][0],
            client_options={"allow_http": True},
        )

    def remove(self, store: str, key: str) -> None:
        bucket = self.bucket(store)
        assert bucket.head(key)["size"] > 0
        bucket.delete(key)

    def alter(self, store: str, ending: str, change: Callable[[bytes], bytes]) -> None:
        """Overwrite the largest object of a store with this key ending."""
        bucket = self.bucket(store)
        objects = [item for page in bucket.list() for item in page if item["path"].endswith(ending)]
        largest = max(objects, key=lambda item: item["size"])["path"]
        bucket.put(largest, change(bytes(bucket.get(largest).bytes())))

    def remove_row(self) -> None:
        parts = urlsplit(self.settings["table"])
        connection = happybase.Connection(parts.hostname, parts.port)
        (journal,) = [
            name for name in connection.tables() if name.endswith(self.settings["env"].encode())
        ]
        connection.table(journal).delete(bytes.fromhex(self.story))
        connection.close()

    def remove_document(self) -> None:
        url = self.settings["index"]
        plain = url.replace(urlsplit(url).scheme, "http", 1)
        answer = httpx2.delete(f"{plain}/_doc/{self.pdf}?refresh=true", timeout=REQUEST_MAX_S)
        assert answer.json()["result"] == "deleted", answer.text


@dataclass(frozen=True)
class Harm:
    """A damage, the fault that the audit reports, and whether only the deep audit finds it."""

    name: str
    act: Callable[[Servers], object]
    fault: str
    deep: bool = False


def _flip_byte(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


HARMS = (
    Harm(
        "row of a PDF",
        lambda on: on.sql(f"delete from pdf_meta where sha1hex = '{on.pdf}' returning 1"),
        "pdf_meta does not",
    ),
    Harm(
        "row of a story altered",
        lambda on: on.sql(
            f"update story_meta set article_title = 'x' where sha1hex = '{on.story}' returning 1"
        ),
        "has changed since it was written",
    ),
    Harm(
        "count",
        lambda on: on.sql(
            "update tallies set count = count + 1 where counted = 'entries' and first = 'done'"
            " returning 1"
        ),
        "were counted",
    ),
    Harm("row of the table", Servers.remove_row, "has no row in the table"),
    Harm("text", lambda on: on.remove("blobs", build_text_blob_key(on.pdf)), "is missing"),
    Harm("picture", lambda on: on.remove("blobs", build_thumbnail_blob_key(on.pdf)), "is missing"),
    Harm("document", Servers.remove_document, "is missing from the index"),
    Harm("CDXJ", lambda on: on.alter("archive", ".cdxj", lambda data: b""), "of its records"),
    Harm(
        "WARC cut",
        lambda on: on.alter("archive", ".gz", lambda data: data[: len(data) // 2]),
        "ends at byte",
    ),
    Harm(
        "WARC altered",
        lambda on: on.alter("archive", ".gz", _flip_byte),
        "cannot read file",
        deep=True,
    ),
    Harm(
        "text altered",
        lambda on: on.alter("blobs", ".txt", lambda data: data[::-1]),
        "has changed since it was written",
        deep=True,
    ),
)


@pytest.fixture(scope="module", params=[("rabbitmq", "opensearch"), ("kafka", "elasticsearch")])
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Servers]:
    """A home with all stores on servers, and the sample crawl."""
    root = tmp_path_factory.mktemp("repaired")
    write_sample(root / "crawl")
    with ExitStack() as stack:
        settings = stack.enter_context(create_deployment(*request.param, {}))
        bucket, _, options = settings["blobs"].partition("?")
        settings["archive"] = f"{bucket}-archive?{options}"
        on = Servers(root / "home", settings)
        result = fonds(on.home, "ingest", "--json", "--workers=1", root / "crawl", **on.environment)
        assert result.last["pending"] == 0, result.err
        yield on


def load_restored_parts(on: Servers) -> dict[str, Any]:
    """Return the part of the state that a repair must restore. Places of files read again may differ."""
    full_state = state(on.home, **on.settings)
    for row in full_state["stories"]:
        for part in ("rss_entry", "http_metadata"):
            row["story"].pop(part)
    return {part: full_state[part] for part in RESTORED_PARTS}


@pytest.mark.parametrize("deep", [False, True], ids=["quick", "deep"])
def test_damage_on_servers_is_reported_and_repaired(servers: Servers, deep: bool) -> None:
    """All damages at once: the audit reports each, and repair restores the home."""
    undamaged = load_restored_parts(servers)
    harms = [harm for harm in HARMS if harm.deep == deep]
    for harm in harms:
        harm.act(servers)
    flags = ["--deep"] if deep else []
    audited = fonds(servers.home, "audit", "--json", *flags, **servers.environment)
    assert audited.code == 1
    assert [harm.name for harm in harms if harm.fault not in audited.out] == []
    result = fonds(servers.home, "repair", "--yes", *flags, **servers.environment)
    assert result.code == 0, result.out + result.err
    now = load_restored_parts(servers)
    for part in RESTORED_PARTS:
        assert now[part] == undamaged[part], part
    audited = fonds(servers.home, "audit", "--deep", "--json", **servers.environment)
    assert (audited.code, audited.last["deep"]["finished"]) == (0, True), audited.out
