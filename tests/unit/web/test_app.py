"""The application as a whole: headers everywhere, errors in words, an API that is described."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from filled_home import FilledHome
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.ports import Stores
from fonds.web.access.security import CONTENT_SECURITY_POLICY, SECURITY_HEADERS
from fonds.web.app import STATIC, create_app
from page_reading import read

PAGES = [
    "/",
    "/records",
    "/files",
    "/search",
    "/search?q=flood",
    "/verify",
    "/sources",
    "/changes",
    "/failures",
    "/pipeline",
    "/show",
    "/docs",
]


def test_every_answer_carries_the_headers(client: TestClient, filled: FilledHome) -> None:
    others = [
        "/nope",
        "/search?page=0",
        "/api/overview",
        "/healthz",
        "/openapi.json",
        "/static/fonds.css",
        "/.json",
    ]
    for path in [*PAGES, *others, f"/file/{filled.long}"]:
        answer = client.get(path)
        for name, value in SECURITY_HEADERS.items():
            assert answer.headers[name] == value, path


def test_the_policy_allows_nothing_from_elsewhere() -> None:
    assert CONTENT_SECURITY_POLICY == (
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )


def test_pages_need_nothing_the_policy_forbids(client: TestClient, filled: FilledHome) -> None:
    for path in [*PAGES, f"/file/{filled.hostile}", f"/file/{filled.long}"]:
        page = read(client, path)
        assert not page.tree.xpath(
            "//@style | //style | //script[text() or not(@src)] | //*[starts-with(name(@*), 'on')]"
        ), path
        loaded = page.tree.xpath(
            "//img/@src | //script/@src | //link/@href | //iframe/@src | //form/@action"
        )
        assert all(one.startswith("/") and not one.startswith("//") for one in loaded), path


def test_every_page_has_one_heading_a_skip_link_and_a_twin(client: TestClient) -> None:
    for path in PAGES:
        page = read(client, path)
        assert len(page.tree.xpath("//h1")) == 1, path
        assert page.tree.xpath("//body/a[1]")[0].get("href") == "#main"
        for href, words in page.links("//footer").items():
            if words == "This page as JSON":
                assert client.get(href).headers["content-type"] == "application/json", path


def test_strange_hosts_are_not_answered(client: TestClient) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_the_bound_host_is_answered(stores: Stores) -> None:
    with TestClient(
        create_app(stores, host="archive.example"), base_url="http://archive.example"
    ) as client:
        assert client.get("/healthz").status_code == 200


def test_posts_from_elsewhere_are_refused_and_ours_find_nothing_to_change(
    client: TestClient,
) -> None:
    assert client.post("/", headers={"Origin": "https://evil.example"}).status_code == 403
    answer = client.post("/", headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 405


def test_an_unknown_page_is_named(client: TestClient) -> None:
    page = read(client, "/no/such/<page>", 404)
    assert page.heading == "Not found"
    assert "There is no page at /no/such/<page>." in page.words()
    assert client.get("/api/nope").json() == {"error": "There is no page at /api/nope."}


def test_the_api_is_described_whole_and_loads_nothing_from_outside(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    assert {path for path in schema["paths"] if path.startswith("/api/")} == {
        "/api/admin", "/api/embargoes", "/api/takedowns", "/api/overview", "/api/search",
        "/api/search.atom", "/api/search/as-of", "/api/complete", "/api/failures/note",
        "/api/search/export/{name}", "/api/verify", "/api/ledger/{name}",
        "/api/records", "/api/files", "/api/files/{sha1hex}", "/api/files/{sha1hex}/pages/{number}",
        "/api/files/{sha1hex}/changes", "/api/files/{sha1hex}/cite", "/api/files/{sha1hex}/raw",
        "/api/changes", "/api/changes.atom",
        "/api/failures", "/api/pipeline", "/api/show", "/api/sources", "/api/sources/{source_id}",
        "/api/sources/{source_id}/links", "/api/sources/{source_id}/{act}",
        "/api/sources/{source_id}/mute", "/api/sources/{source_id}/backfill",
        "/api/themes", "/api/themes/{namespace}/{key}",
        "/api/themes/{namespace}/{key}/unclustered", "/api/themes/{namespace}/{key}/unclustered/{reason}",
        "/api/themes/{namespace}/{key}/unclustered/{reason}/documents",
        "/api/themes/{namespace}/{key}/excluded", "/api/themes/{namespace}/{key}/{act}",
        "/api/themes/{namespace}/{key}/{theme}", "/api/themes/{namespace}/{key}/document",
        "/api/themes/{namespace}/{key}/over-time", "/api/themes/{namespace}/{key}/{theme}/documents",
    }  # fmt: skip
    page = read(client, "/docs")
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}" in page.words()
            for one in operation.get("parameters", []):
                assert page.tree.xpath(
                    "//section[contains(h2, $path)]//dt[. = $name]", path=path, name=one["name"]
                )
            assert "422" not in operation["responses"]
    assert not re.search(r"https?://", page.text)


def test_the_api_and_the_twins_give_the_same(client: TestClient, filled: FilledHome) -> None:
    for api, twin in [
        ("/api/search?q=flood", "/search.json?q=flood"),
        ("/api/records?outcome=done", "/records.json?outcome=done"),
        ("/api/failures", "/failures.json"),
        ("/api/files?type=text/html", "/files.json?type=text/html"),
        (f"/api/files/{filled.long}", f"/file/{filled.long}.json"),
    ]:
        assert client.get(api).json() == client.get(twin).json()


def test_health_counts_what_can_be_searched(client: TestClient, filled: FilledHome) -> None:
    assert client.get("/healthz").json() == {"status": "ok", "documents": filled.searchable}


class _Faulty:
    """A records store whose every method raises: what a lost disk or a locked database looks like."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def for_readers(self) -> _Faulty:
        return self

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise self.error

        return fail


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (
            StoreUnavailableError("records.sqlite is locked; try again"),
            503,
            "records.sqlite is locked; try again",
        ),
        (
            ConfigurationError("records.sqlite is from a newer Fonds"),
            500,
            "records.sqlite is from a newer Fonds",
        ),
        (ZeroDivisionError("a bug"), 500, "Internal error in Fonds (ZeroDivisionError)"),
    ],
)
def test_faults_are_told_with_the_headers(
    stores: Stores, error: Exception, status: int, said: str
) -> None:
    app = create_app(replace(stores, records=_Faulty(error)))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        for path in ("/", "/api/overview", "/healthz"):
            answer = client.get(path)
            assert answer.status_code == status
            assert said in answer.text
            assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
            assert ("Retry-After" in answer.headers) is (status == 503)


def test_the_title_of_the_library_is_shown_as_text(stores: Stores, tmp_path: Path) -> None:
    with TestClient(create_app(stores, title="<i>Ours</i>"), base_url="http://localhost") as client:
        page = read(client, "/failures")
    assert page.words("//header/a") == "<i>Ours</i>"
    assert "&lt;i&gt;Ours&lt;/i&gt;</title>" in page.text


def _colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_all_colours_can_be_read_in_light_in_dark_and_on_paper(number: int) -> None:
    sheet = (STATIC / "fonds.css").read_text("utf-8")
    colours = _colours(re.findall(r":root \{(.*?)\n\s*\}", sheet, re.S)[number])
    texts = ["ink", "soft", "link", "kept", "aside", "refused", "failed", "flight"]
    for ground in ("paper", "panel"):
        for text in texts:
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert _contrast(colours["mark-ink"], colours["mark"]) >= 4.5
