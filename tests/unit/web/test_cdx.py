"""`/cdx` responds like the CDX servers of web archives."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from filled_home import FilledHome

FRONT = "http://daily.example/front"


def test_lines_and_json_have_the_same_rows(client: TestClient, filled_home: FilledHome) -> None:
    lines = client.get("/cdx", params={"url": filled_home.twice_url})
    assert lines.headers["content-type"].startswith("text/plain")
    rows = [line.split(" ") for line in lines.text.splitlines()]
    assert len(rows) == 2
    fields, *json_rows = client.get(
        "/cdx", params={"url": filled_home.twice_url, "output": "json"}
    ).json()
    assert fields == [
        "urlkey",
        "timestamp",
        "original",
        "mimetype",
        "statuscode",
        "digest",
        "length",
    ]
    assert json_rows == rows
    assert {row[4] for row in rows} == {"200"}


def test_resume_keys_page_through_all_captures(client: TestClient) -> None:
    first_params = {
        "url": "*.example",
        "limit": "3",
        "fl": "original,timestamp",
        "showResumeKey": "true",
    }
    url, lines_seen = "/cdx", list[str]()
    full_text = client.get("/cdx", params={"url": "*.example", "fl": "original,timestamp"}).text
    params: dict[str, str] | None = first_params
    for _ in range(1000):
        response = client.get(url, params=params)
        lines, _, key = response.text.partition("\n\n")
        lines_seen += lines.splitlines()
        if "link" not in response.headers:
            assert key == ""
            break
        url, params = response.links["next"]["url"], None
        assert key.strip() in url
        assert len(lines.splitlines()) == 3
    assert lines_seen == full_text.splitlines()
    assert len(lines_seen) > 10


def test_the_json_resume_key_follows_the_captures(client: TestClient) -> None:
    params = {"url": "*.example", "limit": "1", "output": "json", "showResumeKey": "true"}
    table = client.get("/cdx", params=params).json()
    assert (len(table), table[2]) == (4, [])
    following = client.get("/cdx", params={**params, "resumeKey": table[3][0]}).json()
    assert following[1] != table[1]


def test_a_url_without_captures_returns_nothing(client: TestClient) -> None:
    assert client.get("/cdx", params={"url": "nowhere.example"}).text == ""
    assert client.get("/cdx", params={"url": "nowhere.example", "output": "json"}).json() == []


def test_stars_match_prefixes_and_subdomains(client: TestClient) -> None:
    def count(**params: str) -> int:
        return len(client.get("/cdx", params=params).text.splitlines())

    assert count(url="daily.example/*") == count(url="daily.example/", matchType="prefix") > 1
    assert count(url="*.daily.example") == count(url="daily.example", matchType="domain") > 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "“url” is required"),
        ({"url": "urn:x", "matchType": "host"}, "no host in"),
        ({"url": FRONT, "from": "20"}, "write a time as YYYY"),
        ({"url": FRONT, "to": "20201399"}, "“to” is “20201399”"),
        ({"url": FRONT, "limit": "-1"}, "greater than or equal to 1"),
        ({"url": FRONT, "filter": "original:("}, "is not valid"),
        ({"url": FRONT, "gzip": "false"}, "There is no parameter “gzip”."),
    ],
)
def test_invalid_parameters_are_refused_with_a_message(
    client: TestClient, params: dict[str, str], message: str
) -> None:
    response = client.get("/cdx", params=params)
    assert response.status_code == 400
    assert message in response.json()["error"]


def test_several_filters_apply_together(client: TestClient) -> None:
    params = {"url": "*.example", "filter": ["mimetype:text/html", "!original:.*front.*"]}
    rows = [line.split(" ") for line in client.get("/cdx", params=params).text.splitlines()]
    assert rows
    assert all(row[3] == "text/html" and "front" not in row[2] for row in rows)
