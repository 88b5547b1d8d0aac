"""No page and no answer of the API says less than is known without saying so; unknown names are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from followed_home import GOOD
from fonds.model.capture import Place, PlaceKind
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.rows import InputRow, Row
from fonds.search.request import AS_OF_PARAMETERS, FILTERS
from fonds.web.app import create_app
from home_rows import NOW, PIPELINE, Body, build_disposition, cdx_row, enter, file_row, write
from page_reading import read

COLLECTION = "/api/themes/{namespace}/{key}"
THEME, DOCUMENT = f"{COLLECTION}/{{theme}}", f"{COLLECTION}/document"
OVER_TIME, DOCUMENTS = f"{COLLECTION}/over-time", f"{THEME}/documents"
APART, REASON = f"{COLLECTION}/unclustered", f"{COLLECTION}/unclustered/{{reason}}"
OF_REASON, OUT = f"{REASON}/documents", f"{COLLECTION}/excluded"
NAMED = {"namespace": "made", "key": "five", "reason": "outlier", "source_id": GOOD.source_id}
LINKS = "/api/sources/{source_id}/links"
# What each parameter of each route is told about a name there is not: refused, with the nearest.
REFUSED = {
    ("/api/search", "kind"): ("stroy", "Did you mean “story”?"),
    ("/api/search", "language"): ("english", "Did you mean 'en'?"),
    ("/api/search", "sort"): ("newst", "Did you mean “newest”?"),
    ("/api/search", "dates"): ("capturd", "Did you mean “captured”?"),
    ("/api/search", "match"): ("bset", "Did you mean “best”?"),
    ("/api/search/as-of", "match"): ("exat", "Did you mean “exact”?"),
    ("/api/search", "collapse"): ("yse", "Did you mean “yes”?"),
    ("/api/search", "themes"): ("made/fife", "Did you mean 'made/five'?"),
    ("/api/search", "q"): ('autor:"A B"', "there is no field “autor”"),
    ("/api/records", "outcome"): ("droped", "Did you mean “dropped”?"),
    ("/api/records", "weight"): ("refussed", "Did you mean “refused”?"),
    ("/api/records", "reason"): ("brokn-pdf", "Did you mean “broken-pdf”?"),
    ("/api/records", "step"): ("extrct_pdf", "Did you mean 'extract_pdf'?"),
    ("/api/records", "after"): ("behind", "it is not a cursor"),
    ("/api/files", "after"): ("behind", "it is not a cursor"),
    ("/api/files", "sort"): ("newst", "Did you mean “newest”?"),
    ("/api/records", "pipeline"): ("libary", "Did you mean 'library'?"),
    ("/api/failures", "reason"): ("brokn-pdf", "Did you mean “broken-pdf”?"),
    ("/api/failures", "step"): ("extrct_pdf", "Did you mean 'extract_pdf'?"),
    ("/api/failures", "pipeline"): ("libary", "Did you mean 'library'?"),
    ("/api/failures", "after"): ("behind", "it is not a cursor"),
    ("/api/changes", "change"): ("editd", "Did you mean “edited”?"),
    ("/api/changes", "after"): ("behind", "it is not a cursor"),
    ("/cdx", "matchType"): ("prefx", "Did you mean “prefix”?"),
    ("/cdx", "output"): ("jsn", "Did you mean “json”?"),
    ("/cdx", "filter"): ("!statuscod:200", "Did you mean 'statuscode'?"),
    ("/cdx", "collapse"): ("timstamp:8", "Did you mean 'timestamp'?"),
    ("/cdx", "fl"): ("urlkey,orignal", "Did you mean 'original'?"),
    ("/cdx", "resumeKey"): ("behind", "resume key is not valid"),
    (COLLECTION, "conf"): ("DEFUALT", "Did you mean 'DEFAULT'?"),
    (THEME, "conf"): ("tigth", "Did you mean 'tight'?"),
    ("/api/sources", "state"): ("pausd", "Did you mean “paused”?"),
    ("/api/sources", "standing"): ("failling", "Did you mean “failing”?"),
    (LINKS, "outcome"): ("droped", "Did you mean “dropped”?"),
    (LINKS, "reason"): ("brokn-pdf", "Did you mean “broken-pdf”?"),
    (LINKS, "step"): ("fech", "Did you mean 'fetch'?"),
    (LINKS, "beyond"): ("fech", "Did you mean 'fetch'?"),
    (LINKS, "after"): ("behind", "it is not a cursor"),
    (THEME, "after"): ("behind", "it is not a cursor of this list"),
    **{
        (path, "conf"): ("tigth", "Did you mean 'tight'?")
        for path in (APART, REASON, OF_REASON, OUT)
    },
    **{
        (path, "at"): ("17900000010", "Did you mean '17900000")
        for path in (APART, REASON, OF_REASON)
    },
    **{
        (path, "after"): ("behind", "it is not a cursor of this list")
        for path in (APART, REASON, OUT)
    },
    (DOCUMENT, "conf"): ("tigth", "Did you mean 'tight'?"),
    (COLLECTION, "at"): ("17900000010", "Did you mean '17900000"),
    (THEME, "at"): ("17900000010", "Did you mean '17900000"),
    (OVER_TIME, "conf"): ("DEFUALT", "Did you mean 'DEFAULT'?"),
    (OVER_TIME, "at"): ("17900000010", "Did you mean '17900000"),
    (OVER_TIME, "measure"): ("shre", "Did you mean “share”?"),
    (OVER_TIME, "scale"): ("sme", "Did you mean “same”?"),
    (DOCUMENTS, "conf"): ("tigth", "Did you mean 'tight'?"),
    (DOCUMENTS, "at"): ("17900000010", "Did you mean '17900000"),
}
# Values nothing has: the answer is empty, and says so beside the nearest there is.
SAID = {
    ("/api/search", "domain"): ("dayly.example", "did you mean “daily.example”?"),
    ("/api/search", "collection"): ("report", "did you mean “reports”?"),
    ("/api/files", "type"): ("application/pfd", "Did you mean 'application/pdf'?"),
}
NOT_NAMES = {
    ("/api/search", name)
    for name in ("from", "to", "undated", "facets", "page", "size", "after", "find", "alike")
} | {("/api/show", "key"), ("/api/records", "group"), ("/api/failures", "group")} | {
    ("/cdx", name) for name in ("url", "from", "to", "limit", "showResumeKey")
} | {
    ("/api/themes", "page"), ("/api/sources", "page"), ("/api/sources", "since"),
    (LINKS, "poll"), (LINKS, "day"), (OVER_TIME, "level"), ("/api/takedowns", "key"),
    (COLLECTION, "page"), (COLLECTION, "level"), (THEME, "level"),
    (DOCUMENT, "id"), ("/api/complete", "q"), ("/api/complete", "at"),
    ("/api/changes", "site"), ("/api/changes.atom", "site"),
    *(("/api/overview", name) for name in ("days", "pipeline", "since")),
    *(("/api/records", name) for name in ("from", "to")),
    *((one, name) for one in (DOCUMENTS, OF_REASON) for name in ("level", "page", "undated")),
    *((one, name) for one in (DOCUMENTS, OF_REASON, OVER_TIME) for name in ("from", "to")),
}  # fmt: skip
# Those of export and feed are the search's own; tried in test_exporting.py and test_feed.py.
TRIED_OF_THE_EXPORT = {
    (route, name)
    for route in ("/api/search/export/{name}", "/api/search.atom")
    for path, name in (*REFUSED, *SAID, *NOT_NAMES)
    if path == "/api/search" and name in FILTERS
}
TRIED_OF_READING = {
    ("/api/files/{sha1hex}", "find"),
    ("/api/files/{sha1hex}/pages/{number}", "q"),
    ("/api/files/{sha1hex}/changes", "since"),
    ("/api/files/{sha1hex}/cite", "page"),
    ("/api/files/{sha1hex}/cite", "quote"),
    ("/api/files/{sha1hex}/raw", "from"),
}
# Those of a search as of a day are tried in test_as_of_page.py.
TRIED_AS_OF = {
    ("/api/search/as-of", name) for name in (*FILTERS, *AS_OF_PARAMETERS) if name != "match"
}
# Those of the service of grouping are tried in rest/test_refusals.py.
TRIED_OF_THE_SERVICE = {
    ("/collections", "after"), ("/collections", "count"),
    ("/collections/{ns}", "after"), ("/collections/{ns}", "count"),
    ("/results/{ns}/{conf}/{name}", "top"),
} | {
    (path, name)
    for path in ("/clusters/{ns}/{key}", "/clusters/{ns}/{key}/{label}")
    for name in ("conf", "at", "level", "form")
} | {
    ("/clusters/{ns}/{key}", "top"), ("/clusters/{ns}/{key}", "changes"),
    ("/clusters/{ns}/{key}/{label}", "count"), ("/clusters/{ns}/{key}/{label}", "unclustered"),
    ("/clusters/{ns}/{key}/{label}", "after"),
}  # fmt: skip
UNDESCRIBED = [
    "/", "/records", "/files", "/search", "/themes", "/sources", "/changes", "/failures",
    "/pipeline", "/show", "/docs",
]  # fmt: skip


def _paths(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()["paths"]
    return found


def _parameters(client: TestClient) -> Iterator[tuple[str, str]]:
    for path, methods in _paths(client).items():
        for operation in methods.values():
            for one in operation.get("parameters", ()):
                if one["in"] == "query":
                    yield path, one["name"]


def test_every_parameter_of_every_route_is_tried_here(client: TestClient) -> None:
    tried = REFUSED.keys() | SAID.keys() | NOT_NAMES | TRIED_OF_THE_EXPORT | TRIED_OF_THE_SERVICE
    tried |= TRIED_OF_READING | TRIED_AS_OF
    assert set(_parameters(client)) == tried


@pytest.mark.parametrize("one", REFUSED, ids=" ".join)
def test_a_name_there_is_not_is_refused_with_the_nearest(
    client: TestClient, themed: TestClient, one: tuple[str, str]
) -> None:
    (path, name), (value, meant) = one, REFUSED[one]
    asked = themed if "{" in path or name == "themes" else client
    there = themed.get("/api/themes/made/five").json()["themes"][0]["id"]
    path = path.format(**NAMED, theme=there)
    params = {name: value, **({"id": "d1"} if one[0] == DOCUMENT else {})}
    told = asked.get(path, params=params)
    assert told.status_code == 400
    assert meant in told.json()["error"]
    page = asked.get(path.removeprefix("/api"), params=params)
    assert page.status_code == 400
    assert any(
        one in page.text
        for one in ("ou mean", "no field", "not a cursor", "beyond the end", "resume key")
    )


@pytest.mark.parametrize("one", SAID, ids=" ".join)
def test_a_value_nothing_has_is_told_beside_the_answer(
    client: TestClient, one: tuple[str, str]
) -> None:
    (path, name), (value, meant) = one, SAID[one]
    told = client.get(path, params={name: value}).json()
    assert told["total"] == 0
    assert [meant in note for note in told["notes"]] == [True]
    page = read(client, f"{path.removeprefix('/api')}?{name}={value}")
    assert meant in page.words("//p[@class='note']")


def test_a_parameter_there_is_not_is_refused_everywhere(client: TestClient) -> None:
    described = [path for path, one in _paths(client).items() if "{" not in path and "get" in one]
    for path in [*described, *UNDESCRIBED]:
        told = client.get(path, params={"pge": "2"})
        assert told.status_code == 400, path
        assert "There is no parameter “pge”." in told.text, path
    told = client.get("/api/records?pge=2").json()["error"]
    assert "Known: " in told
    assert "This address takes no parameters." in client.get("/healthz?x=1").json()["error"]
    for path in (f"/api/files/{'ab' * 20}", f"/file/{'ab' * 20}/body", f"/file/{'ab' * 20}"):
        assert client.get(path, params={"x": "1"}).status_code == 400, path


def test_a_parameter_given_twice_is_refused_where_one_would_be_left_out(client: TestClient) -> None:
    assert (
        "“outcome” is given more than once"
        in client.get("/api/records?outcome=done&outcome=pending").text
    )
    assert client.get("/api/search?kind=pdf&kind=story").status_code == 200


def test_a_page_behind_the_last_says_so(client: TestClient) -> None:
    path = "/search?q=flood&"
    page = read(client, f"{path}page=300")
    assert "There is no page 300" in page.words()
    assert "300 of" not in page.words()
    told = client.get(f"{path.replace('?', '.json?', 1)}page=300").json()
    assert told["page"] == 300
    assert 0 < told["pages"] < 300
    last = page.links("//nav[@class='pager']")
    assert [href.rsplit("=", 1)[1] for href in last] == [str(told["pages"])]


def test_documents_without_a_language_are_a_value_of_the_facet(crowd: TestClient) -> None:
    told = crowd.get("/api/search").json()
    assert ["", 7] in told["facets"]["language"]
    assert crowd.get("/api/search?language=").json()["total"] == 7
    assert crowd.get("/api/search?language=none").json()["total"] == 7
    assert crowd.get("/api/search", params={"q": "language:none"}).json()["total"] == 7
    assert read(crowd, "/search").links("//aside")["/search?language="] == "none 7"


def test_a_facet_says_how_many_documents_it_does_not_list(crowd: TestClient) -> None:
    told = crowd.get("/api/search").json()
    listed = told["facets"]["canonical_domain"]
    assert len(listed) == 20
    assert told["beyond"]["canonical_domain"] + sum(n for _, n in listed) == told["total"] == 47
    page = read(crowd, "/search")
    assert "Show more (27 documents)" in page.words("//aside")
    whole = crowd.get("/api/search?facets=1000").json()
    assert len(whole["facets"]["canonical_domain"]) == 47
    assert set(whole["beyond"].values()) == {0}
    assert "with others" not in read(crowd, "/search?facets=1000").words("//aside")


def test_dates_say_whose_they_are(client: TestClient) -> None:
    assert "PDF dates are the file&#39;s creation date." in read(client, "/search?q=flood").text


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """47 documents of as many domains, seven of them without a language."""
    with open_home(tmp_path_factory.mktemp("crowd")) as stores:
        stores.index.put([_document(number) for number in range(47)])
        with TestClient(create_app(stores), base_url="http://localhost:8765") as asked:
            yield asked


def _document(number: int) -> IndexDocument:
    return IndexDocument(
        id=f"{number:040x}",
        sha1hex=f"{number:040x}",
        kind=Kind.PDF,
        url=f"http://site{number}.example/",
        canonical_domain=f"site{number}.example",
        publication_date=None,
        language=None if number < 7 else "en",
        article_title="A title",
        text_content="A text",
        indexed_date=NOW,
    )


@pytest.fixture(scope="module")
def long_lists(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One file captured 1,003 times, 60 files at one URL, 60 records of it, 60 inputs that broke off."""
    with open_home(tmp_path_factory.mktemp("long")) as stores:
        first = Body(0, "http://long.example/", NOW, "text/html", b"the same")
        captured = replace(first, place=Place(PlaceKind.WARC, "long.warc.gz", 0, 10))
        others = [
            replace(
                first,
                number=n,
                content=b"%d" % n,
                place=Place(PlaceKind.WARC, "b.warc.gz", n, 10),
            )
            for n in range(1, 61)
        ]
        enter(stores, [first, *others])
        cdx = cdx_row(captured)
        elsewhere = {"url": "http://b.example/", "surt": "b", "surt_key": "b"}
        rows: list[Row] = [replace(cdx, warc_offset=n, **elsewhere) for n in range(1_003)]
        rows += [cdx_row(one) for one in others] + [file_row(first)]
        rows += [
            replace(build_disposition(first, "persist_file", n), message_id=f"m{n}")
            for n in range(1_003)
        ]
        write(stores, rows)
        broken = InputRow(
            input_id="", path="/crawls/broken.warc", kind="warc", fingerprint="", position=0,
            entries=1, tally={}, tally_count=0, finished=False, error="broke off", updated=NOW,
            pipeline=PIPELINE,
        )  # fmt: skip
        stores.ledger.enter([replace(broken, input_id=f"i{n}") for n in range(60)], [], [])
        counted = replace(
            broken, error=None, finished=True, tally={"not-a-capture": 2}, tally_count=2
        )
        stores.ledger.enter([replace(counted, input_id=f"c{n}") for n in range(1_003)], [], [])
        with TestClient(create_app(stores), base_url="http://localhost:8765") as asked:
            yield asked


def test_a_file_says_how_many_captures_and_endings_it_does_not_list(long_lists: TestClient) -> None:
    key = Body(0, "http://long.example/", NOW, "text/html", b"the same").sha1hex
    told = long_lists.get(f"/api/files/{key}").json()
    assert (len(told["captures"]), told["captures_total"]) == (1_000, 1_003)
    assert (len(told["history"]), told["history_total"]) == (1_000, 1_003)
    said = read(long_lists, f"/file/{key}").words()
    assert "Captures (1,003)" in said
    assert "The first 1,000." in said
    assert "The first 1,000 of 1,003." in said


def test_a_key_says_how_many_files_and_records_it_does_not_list(long_lists: TestClient) -> None:
    told = long_lists.get("/api/show?key=http://long.example/").json()
    assert (len(told["files"]), told["files_total"], told["files_complete"]) == (50, 60, True)
    assert (len(told["records"]), told["records_total"]) == (50, 61)
    page = read(long_lists, "/show?key=http://long.example/").words()
    assert "60 files" in page
    assert "The first 50." in page
    assert "61 records with this URL" in page
    assert "The newest 50." in page


def test_failures_say_how_many_inputs_they_do_not_list(long_lists: TestClient) -> None:
    told = long_lists.get("/api/failures").json()
    assert (len(told["inputs"]), told["inputs_total"]) == (50, 60)
    page = read(long_lists, "/failures")
    assert page.heading == "60 inputs could not be read"
    assert "The first 50 of 60." in page.words()


def test_a_tally_says_that_it_did_not_look_through_all_inputs(long_lists: TestClient) -> None:
    told = long_lists.get("/api/records?outcome=dropped").json()
    assert told["counted_total"] == 2 * 1_003
    assert (len(told["counted_inputs"]), told["counted_inputs_total"]) == (50, 1_000)
    assert not told["counted_inputs_complete"]
    assert "50 of at least 1,000 inputs" in read(long_lists, "/records?outcome=dropped").words()
