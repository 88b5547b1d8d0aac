"""Pages and API responses report every shortened list, and unknown names are refused."""

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
UNCLUSTERED, REASON = f"{COLLECTION}/unclustered", f"{COLLECTION}/unclustered/{{reason}}"
OF_REASON, EXCLUDED = f"{REASON}/documents", f"{COLLECTION}/excluded"
PATH_VALUES = {"namespace": "made", "key": "five", "reason": "outlier", "source_id": GOOD.source_id}
LINKS = "/api/sources/{source_id}/links"
# By route and parameter: an unknown name, and what the error says about the nearest one.
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
    ("/api/records", "weight"): ("rejectd", "Did you mean “rejected”?"),
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
    ("/api/sources", "health"): ("failling", "Did you mean “failing”?"),
    (LINKS, "outcome"): ("droped", "Did you mean “dropped”?"),
    (LINKS, "reason"): ("brokn-pdf", "Did you mean “broken-pdf”?"),
    (LINKS, "step"): ("fech", "Did you mean 'fetch'?"),
    (LINKS, "beyond"): ("fech", "Did you mean 'fetch'?"),
    (LINKS, "after"): ("behind", "it is not a cursor"),
    (THEME, "after"): ("behind", "it is not a cursor of this list"),
    **{
        (path, "conf"): ("tigth", "Did you mean 'tight'?")
        for path in (UNCLUSTERED, REASON, OF_REASON, EXCLUDED)
    },
    **{
        (path, "at"): ("17900000010", "Did you mean '17900000")
        for path in (UNCLUSTERED, REASON, OF_REASON)
    },
    **{
        (path, "after"): ("behind", "it is not a cursor of this list")
        for path in (UNCLUSTERED, REASON, EXCLUDED)
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
# Values that no document has: the response is empty and names the nearest value.
NOTED = {
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
    *((path, name) for path in (DOCUMENTS, OF_REASON) for name in ("level", "page", "undated")),
    *((path, name) for path in (DOCUMENTS, OF_REASON, OVER_TIME) for name in ("from", "to")),
}  # fmt: skip
# Export and feed share the parameters of the search. test_export.py and test_feed.py test them.
EXPORT_PARAMETERS = {
    (route, name)
    for route in ("/api/search/export/{name}", "/api/search.atom")
    for path, name in (*REFUSED, *NOTED, *NOT_NAMES)
    if path == "/api/search" and name in FILTERS
}
READING_PARAMETERS = {
    ("/api/files/{sha1hex}", "find"),
    ("/api/files/{sha1hex}/pages/{number}", "q"),
    ("/api/files/{sha1hex}/changes", "since"),
    ("/api/files/{sha1hex}/cite", "page"),
    ("/api/files/{sha1hex}/cite", "quote"),
    ("/api/files/{sha1hex}/raw", "from"),
}
# test_as_of_page.py tests the parameters of an as-of search.
AS_OF_SEARCH_PARAMETERS = {
    ("/api/search/as-of", name) for name in (*FILTERS, *AS_OF_PARAMETERS) if name != "match"
}
# rest/test_refusals.py tests the parameters of the grouping service.
SERVICE_PARAMETERS = {
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


def _get_paths(client: TestClient) -> dict[str, Any]:
    paths: dict[str, Any] = client.get("/openapi.json").json()["paths"]
    return paths


def _iter_parameters(client: TestClient) -> Iterator[tuple[str, str]]:
    for path, methods in _get_paths(client).items():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query":
                    yield path, parameter["name"]


def test_every_parameter_of_every_route_is_tested(client: TestClient) -> None:
    tested = REFUSED.keys() | NOTED.keys() | NOT_NAMES | EXPORT_PARAMETERS | SERVICE_PARAMETERS
    tested |= READING_PARAMETERS | AS_OF_SEARCH_PARAMETERS
    assert set(_iter_parameters(client)) == tested


@pytest.mark.parametrize("parameter", REFUSED, ids=" ".join)
def test_an_unknown_name_is_refused_with_the_nearest(
    client: TestClient, themed_client: TestClient, parameter: tuple[str, str]
) -> None:
    (path, name), (value, hint) = parameter, REFUSED[parameter]
    queried_client = themed_client if "{" in path or name == "themes" else client
    theme_id = themed_client.get("/api/themes/made/five").json()["themes"][0]["id"]
    path = path.format(**PATH_VALUES, theme=theme_id)
    params = {name: value, **({"id": "d1"} if parameter[0] == DOCUMENT else {})}
    response = queried_client.get(path, params=params)
    assert response.status_code == 400
    assert hint in response.json()["error"]
    page = queried_client.get(path.removeprefix("/api"), params=params)
    assert page.status_code == 400
    assert any(
        text in page.text
        for text in ("ou mean", "no field", "not a cursor", "beyond the end", "resume key")
    )


@pytest.mark.parametrize("parameter", NOTED, ids=" ".join)
def test_a_value_without_documents_is_noted_in_the_response(
    client: TestClient, parameter: tuple[str, str]
) -> None:
    (path, name), (value, hint) = parameter, NOTED[parameter]
    data = client.get(path, params={name: value}).json()
    assert data["total"] == 0
    assert [hint in note for note in data["notes"]] == [True]
    page = read(client, f"{path.removeprefix('/api')}?{name}={value}")
    assert hint in page.words("//p[@class='note']")


def test_an_unknown_parameter_is_refused_by_every_route(client: TestClient) -> None:
    described_paths = [
        path for path, methods in _get_paths(client).items() if "{" not in path and "get" in methods
    ]
    for path in [*described_paths, *UNDESCRIBED]:
        response = client.get(path, params={"pge": "2"})
        assert response.status_code == 400, path
        assert "There is no parameter “pge”." in response.text, path
    error = client.get("/api/records?pge=2").json()["error"]
    assert "Known: " in error
    assert "This address takes no parameters." in client.get("/healthz?x=1").json()["error"]
    for path in (f"/api/files/{'ab' * 20}", f"/file/{'ab' * 20}/body", f"/file/{'ab' * 20}"):
        assert client.get(path, params={"x": "1"}).status_code == 400, path


def test_a_repeated_single_value_parameter_is_refused(client: TestClient) -> None:
    assert (
        "“outcome” is given more than once"
        in client.get("/api/records?outcome=done&outcome=pending").text
    )
    assert client.get("/api/search?kind=pdf&kind=story").status_code == 200


def test_a_page_after_the_last_links_to_the_last(client: TestClient) -> None:
    path = "/search?q=flood&"
    page = read(client, f"{path}page=300")
    assert "There is no page 300" in page.words()
    assert "300 of" not in page.words()
    data = client.get(f"{path.replace('?', '.json?', 1)}page=300").json()
    assert data["page"] == 300
    assert 0 < data["pages"] < 300
    pager_links = page.links("//nav[@class='pager']")
    assert [href.rsplit("=", 1)[1] for href in pager_links] == [str(data["pages"])]


def test_documents_without_a_language_are_counted_as_none(many_domains: TestClient) -> None:
    data = many_domains.get("/api/search").json()
    assert ["", 7] in data["facets"]["language"]
    assert many_domains.get("/api/search?language=").json()["total"] == 7
    assert many_domains.get("/api/search?language=none").json()["total"] == 7
    assert many_domains.get("/api/search", params={"q": "language:none"}).json()["total"] == 7
    assert read(many_domains, "/search").links("//aside")["/search?language="] == "none 7"


def test_a_facet_counts_the_documents_it_does_not_list(many_domains: TestClient) -> None:
    data = many_domains.get("/api/search").json()
    domains = data["facets"]["canonical_domain"]
    assert len(domains) == 20
    assert (
        data["beyond"]["canonical_domain"] + sum(count for _, count in domains)
        == data["total"]
        == 47
    )
    page = read(many_domains, "/search")
    assert "Show more (27 documents)" in page.words("//aside")
    full_data = many_domains.get("/api/search?facets=1000").json()
    assert len(full_data["facets"]["canonical_domain"]) == 47
    assert set(full_data["beyond"].values()) == {0}
    assert "with others" not in read(many_domains, "/search?facets=1000").words("//aside")


def test_the_search_page_explains_the_dates_of_pdfs(client: TestClient) -> None:
    assert "PDF dates are the file&#39;s creation date." in read(client, "/search?q=flood").text


@pytest.fixture(scope="module")
def many_domains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client of a home with 47 documents of 47 domains, seven of them without a language."""
    with open_home(tmp_path_factory.mktemp("crowd")) as stores:
        stores.index.put([_build_document(number) for number in range(47)])
        with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
            yield client


def _build_document(number: int) -> IndexDocument:
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
    """Client of a home with more captures, files, records and inputs than a page lists."""
    with open_home(tmp_path_factory.mktemp("long")) as stores:
        first = Body(0, "http://long.example/", NOW, "text/html", b"the same")
        captured_body = replace(first, place=Place(PlaceKind.WARC, "long.warc.gz", 0, 10))
        others = [
            replace(
                first,
                number=number,
                content=b"%d" % number,
                place=Place(PlaceKind.WARC, "b.warc.gz", number, 10),
            )
            for number in range(1, 61)
        ]
        enter(stores, [first, *others])
        cdx = cdx_row(captured_body)
        other_url = {"url": "http://b.example/", "surt": "b", "surt_key": "b"}
        rows: list[Row] = [replace(cdx, warc_offset=number, **other_url) for number in range(1_003)]
        rows += [cdx_row(other) for other in others] + [file_row(first)]
        rows += [
            replace(build_disposition(first, "persist_file", number), message_id=f"m{number}")
            for number in range(1_003)
        ]
        write(stores, rows)
        broken_input = InputRow(
            input_id="", path="/crawls/broken.warc", kind="warc", fingerprint="", position=0,
            entries=1, tally={}, tally_count=0, finished=False, error="broke off", updated=NOW,
            pipeline=PIPELINE,
        )  # fmt: skip
        stores.ledger.enter(
            [replace(broken_input, input_id=f"i{number}") for number in range(60)], [], []
        )
        complete_input = replace(
            broken_input, error=None, finished=True, tally={"not-a-capture": 2}, tally_count=2
        )
        stores.ledger.enter(
            [replace(complete_input, input_id=f"c{number}") for number in range(1_003)], [], []
        )
        with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
            yield client


def test_a_file_page_counts_the_unlisted_captures_and_dispositions(long_lists: TestClient) -> None:
    key = Body(0, "http://long.example/", NOW, "text/html", b"the same").sha1hex
    data = long_lists.get(f"/api/files/{key}").json()
    assert (len(data["captures"]), data["captures_total"]) == (1_000, 1_003)
    assert (len(data["history"]), data["history_total"]) == (1_000, 1_003)
    text = read(long_lists, f"/file/{key}").words()
    assert "Captures (1,003)" in text
    assert "The first 1,000 captures." in text
    assert "The first 1,000 of 1,003 messages about this file." in text


def test_the_page_of_a_url_counts_the_unlisted_files_and_records(long_lists: TestClient) -> None:
    data = long_lists.get("/api/show?key=http://long.example/").json()
    assert (len(data["files"]), data["files_total"], data["files_complete"]) == (50, 60, True)
    assert (len(data["records"]), data["records_total"]) == (50, 61)
    text = read(long_lists, "/show?key=http://long.example/").words()
    assert "60 files" in text
    assert "The first 50 files." in text
    assert "61 records with this URL" in text
    assert "The newest 50." in text


def test_the_failures_page_counts_the_unlisted_inputs(long_lists: TestClient) -> None:
    data = long_lists.get("/api/failures").json()
    assert (len(data["inputs"]), data["inputs_total"]) == (50, 60)
    page = read(long_lists, "/failures")
    assert page.heading == "60 inputs could not be read"
    assert "The first 50 of 60 partly read inputs." in page.words()


def test_a_tally_reports_that_it_examined_only_some_inputs(long_lists: TestClient) -> None:
    data = long_lists.get("/api/records?outcome=dropped").json()
    assert data["counted_total"] == 2 * 1_003
    assert (len(data["counted_inputs"]), data["counted_inputs_total"]) == (50, 1_000)
    assert not data["counted_inputs_complete"]
    assert "50 of at least 1,000 inputs" in read(long_lists, "/records?outcome=dropped").words()
