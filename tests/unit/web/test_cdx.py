"""`/cdx`: the index of captures as the CDX servers of web archives answer."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from filled_home import FilledHome

FRONT = "http://daily.example/front"


def test_lines_and_json_say_the_same(client: TestClient, filled: FilledHome) -> None:
    lines = client.get("/cdx", params={"url": filled.twice_url})
    assert lines.headers["content-type"].startswith("text/plain")
    rows = [line.split(" ") for line in lines.text.splitlines()]
    assert len(rows) == 2
    names, *same = client.get("/cdx", params={"url": filled.twice_url, "output": "json"}).json()
    assert names == [
        "urlkey",
        "timestamp",
        "original",
        "mimetype",
        "statuscode",
        "digest",
        "length",
    ]
    assert same == rows
    assert {row[4] for row in rows} == {"200"}


def test_an_answer_that_is_not_whole_leads_on(client: TestClient) -> None:
    asked = {"url": "*.example", "limit": "3", "fl": "original,timestamp", "showResumeKey": "true"}
    address, seen = "/cdx", list[str]()
    whole = client.get("/cdx", params={"url": "*.example", "fl": "original,timestamp"}).text
    params: dict[str, str] | None = asked
    for _ in range(1000):
        told = client.get(address, params=params)
        lines, _, key = told.text.partition("\n\n")
        seen += lines.splitlines()
        if "link" not in told.headers:
            assert key == ""
            break
        address, params = told.links["next"]["url"], None
        assert key.strip() in address
        assert len(lines.splitlines()) == 3
    assert seen == whole.splitlines()
    assert len(seen) > 10


def test_the_key_to_go_on_with_stands_behind_the_captures_of_json(client: TestClient) -> None:
    params = {"url": "*.example", "limit": "1", "output": "json", "showResumeKey": "true"}
    table = client.get("/cdx", params=params).json()
    assert (len(table), table[2]) == (4, [])
    following = client.get("/cdx", params={**params, "resumeKey": table[3][0]}).json()
    assert following[1] != table[1]


def test_of_an_address_nobody_captured_nothing_is_said(client: TestClient) -> None:
    assert client.get("/cdx", params={"url": "nowhere.example"}).text == ""
    assert client.get("/cdx", params={"url": "nowhere.example", "output": "json"}).json() == []


def test_stars_stand_for_whatever_there_is(client: TestClient) -> None:
    def count(**params: str) -> int:
        return len(client.get("/cdx", params=params).text.splitlines())

    assert count(url="daily.example/*") == count(url="daily.example/", matchType="prefix") > 1
    assert count(url="*.daily.example") == count(url="daily.example", matchType="domain") > 1


@pytest.mark.parametrize(
    ("params", "told"),
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
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    client: TestClient, params: dict[str, str], told: str
) -> None:
    answer = client.get("/cdx", params=params)
    assert answer.status_code == 400
    assert told in answer.json()["error"]


def test_several_filters_all_hold(client: TestClient) -> None:
    params = {"url": "*.example", "filter": ["mimetype:text/html", "!original:.*front.*"]}
    rows = [line.split(" ") for line in client.get("/cdx", params=params).text.splitlines()]
    assert rows
    assert all(row[3] == "text/html" and "front" not in row[2] for row in rows)
