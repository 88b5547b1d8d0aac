"""The application: security headers, error messages and the OpenAPI description."""

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


def test_every_response_has_the_security_headers(
    client: TestClient, filled_home: FilledHome
) -> None:
    other_paths = [
        "/nope",
        "/search?page=0",
        "/api/overview",
        "/healthz",
        "/openapi.json",
        "/static/fonds.css",
        "/.json",
    ]
    for path in [*PAGES, *other_paths, f"/file/{filled_home.long}"]:
        response = client.get(path)
        for name, value in SECURITY_HEADERS.items():
            assert response.headers[name] == value, path


def test_the_policy_allows_only_own_content() -> None:
    assert CONTENT_SECURITY_POLICY == (
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )


def test_pages_comply_with_the_content_security_policy(
    client: TestClient, filled_home: FilledHome
) -> None:
    for path in [*PAGES, f"/file/{filled_home.hostile}", f"/file/{filled_home.long}"]:
        page = read(client, path)
        assert not page.tree.xpath(
            "//@style | //style | //script[text() or not(@src)] | //*[starts-with(name(@*), 'on')]"
        ), path
        urls = page.tree.xpath(
            "//img/@src | //script/@src | //link/@href | //iframe/@src | //form/@action"
        )
        assert all(url.startswith("/") and not url.startswith("//") for url in urls), path


def test_every_page_has_a_heading_a_skip_link_and_a_json_twin(client: TestClient) -> None:
    for path in PAGES:
        page = read(client, path)
        assert len(page.tree.xpath("//h1")) == 1, path
        assert page.tree.xpath("//body/a[1]")[0].get("href") == "#main"
        for href, words in page.links("//footer").items():
            if words == "This page as JSON":
                assert client.get(href).headers["content-type"] == "application/json", path


def test_unknown_hosts_are_refused(client: TestClient) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_the_bound_host_is_allowed(stores: Stores) -> None:
    with TestClient(
        create_app(stores, host="archive.example"), base_url="http://archive.example"
    ) as client:
        assert client.get("/healthz").status_code == 200


def test_posts_from_other_sites_return_403(
    client: TestClient,
) -> None:
    assert client.post("/", headers={"Origin": "https://evil.example"}).status_code == 403
    response = client.post("/", headers={"Sec-Fetch-Site": "same-origin"})
    assert response.status_code == 405


def test_an_unknown_page_names_its_path(client: TestClient) -> None:
    page = read(client, "/no/such/<page>", 404)
    assert page.heading == "Not found"
    assert "There is no page at /no/such/<page>." in page.words()
    assert client.get("/api/nope").json() == {"error": "There is no page at /api/nope."}


def test_the_docs_page_describes_every_operation(client: TestClient) -> None:
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
            for parameter in operation.get("parameters", []):
                assert page.tree.xpath(
                    "//section[contains(h2, $path)]//dt[. = $name]",
                    path=path,
                    name=parameter["name"],
                )
            assert "422" not in operation["responses"]
    assert not re.search(r"https?://", page.text)


def test_the_api_and_the_json_twins_return_the_same(
    client: TestClient, filled_home: FilledHome
) -> None:
    for api, twin in [
        ("/api/search?q=flood", "/search.json?q=flood"),
        ("/api/records?outcome=done", "/records.json?outcome=done"),
        ("/api/failures", "/failures.json"),
        ("/api/files?type=text/html", "/files.json?type=text/html"),
        (f"/api/files/{filled_home.long}", f"/file/{filled_home.long}.json"),
    ]:
        assert client.get(api).json() == client.get(twin).json()


def test_the_health_check_counts_searchable_documents(
    client: TestClient, filled_home: FilledHome
) -> None:
    assert client.get("/healthz").json() == {"status": "ok", "documents": filled_home.searchable}


class _FaultyRecords:
    """Records store whose methods all raise, like a lost disk or a locked database."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def for_readers(self) -> _FaultyRecords:
        return self

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise self.error

        return fail


@pytest.mark.parametrize(
    ("error", "status", "message"),
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
def test_faults_are_reported_with_the_security_headers(
    stores: Stores, error: Exception, status: int, message: str
) -> None:
    app = create_app(replace(stores, records=_FaultyRecords(error)))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        for path in ("/", "/api/overview", "/healthz"):
            response = client.get(path)
            assert response.status_code == status
            assert message in response.text
            assert response.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
            assert ("Retry-After" in response.headers) is (status == 503)


def test_the_title_of_the_library_is_escaped(stores: Stores, tmp_path: Path) -> None:
    with TestClient(create_app(stores, title="<i>Ours</i>"), base_url="http://localhost") as client:
        page = read(client, "/failures")
    assert page.words("//header/a") == "<i>Ours</i>"
    assert "&lt;i&gt;Ours&lt;/i&gt;</title>" in page.text


def _parse_colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first: str, second: str) -> float:
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_all_colours_have_enough_contrast(number: int) -> None:
    sheet = (STATIC / "fonds.css").read_text("utf-8")
    colours = _parse_colours(re.findall(r":root \{(.*?)\n\s*\}", sheet, re.S)[number])
    texts = ["ink", "soft", "link", "kept", "aside", "refused", "failed", "flight"]
    for ground in ("paper", "panel"):
        for text in texts:
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert _contrast(colours["mark-ink"], colours["mark"]) >= 4.5
