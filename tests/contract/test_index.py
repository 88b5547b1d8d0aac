"""Promises of the Index port for every backend: documents are stored, returned and found."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.index_backends import BACKENDS, document, open_index, search_names, sha1hex
from fonds.model.file import Kind
from fonds.model.search import SearchQuery
from fonds.ports import Index
from real_servers import backend_params


@pytest.fixture(params=backend_params(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def index(backend: str, tmp_path: Path) -> Iterator[Index]:
    with open_index(backend, tmp_path / "index") as index:
        yield index


class TestStorage:
    def test_an_empty_index_returns_empty_results(self, index):
        assert index.count() == 0
        assert index.get([sha1hex("a")]) == {}
        results = index.search(SearchQuery("anything"))
        assert (results.total, list(results.hits), results.undated) == (0, [], 0)
        assert {key: list(values) for key, values in results.facets.items()} == {
            "kind": [],
            "language": [],
            "canonical_domain": [],
            "collection": [],
        }
        index.delete([sha1hex("a")])

    def test_get_returns_complete_documents(self, index):
        full = document(
            "full",
            "First line\nsecond \x0c page – “quoted” 東京 e\u0301 \U0001f30a\x00end",
            "A title with ümlauts & <tags>",
            kind=Kind.PDF,
            collection="river reports",
            story_id="abc",
            page_count=3,
            word_count=7,
            has_thumbnail=True,
        )
        bare = document("bare", "", publication_date=None, language=None)
        index.put([full, bare])
        ids = [full.sha1hex, bare.sha1hex, sha1hex("absent")]
        assert index.get(ids) == {full.sha1hex: full, bare.sha1hex: bare}

    def test_another_open_index_sees_a_put_at_once(self, index, backend, tmp_path):
        second_index = BACKENDS[backend](tmp_path / "index")
        assert second_index.count() == 0
        index.put([document("a")])
        assert set(second_index.get([sha1hex("a")])) == {sha1hex("a")}
        index.put([document("b")])
        assert set(second_index.get([sha1hex("a"), sha1hex("b")])) == {sha1hex("a"), sha1hex("b")}

    def test_a_put_replaces_the_document_with_the_same_id(self, index):
        index.put([document("a", "old words"), document("b", "old words")])
        index.put([document("a", "new words")])
        assert index.count() == 2
        assert search_names(index, "old") == {"b"}
        assert search_names(index, "new") == {"a"}

    def test_documents_of_one_file_have_separate_ids(self, index):
        first = document("a", "first words")
        second = replace(first, id="5" * 64, story_id="5" * 64, text_content="other words")
        index.put([first, second])
        assert index.count() == 2
        index.delete([first.id])
        assert index.get([first.id, second.id]) == {second.id: second}

    def test_a_document_of_another_file_replaces_the_same_id(self, index):
        earlier = document("a", "old words")
        index.put([earlier])
        later = replace(
            earlier, sha1hex=sha1hex("b"), indexed_date=earlier.indexed_date - timedelta(days=9)
        )
        index.put([later])
        assert (index.count(), index.get([earlier.id])) == (1, {earlier.id: later})

    def test_the_last_document_with_an_id_in_a_batch_wins(self, index):
        index.put([document("a", "first"), document("a", "second")])
        assert index.count() == 1
        assert index.get([sha1hex("a")])[sha1hex("a")].text_content == "second"

    def test_a_repeated_put_changes_nothing(self, index):
        batch = [document(str(number)) for number in range(5)]
        index.put(batch)
        index.put(batch)
        assert index.count() == 5

    def test_delete_removes_documents_and_ignores_missing_ids(self, index):
        index.put([document("a"), document("b")])
        index.delete([sha1hex("a"), sha1hex("absent")])
        assert index.count() == 1
        assert index.get([sha1hex("a")]) == {}
        assert search_names(index) == {"b"}

    def test_empty_batches_are_accepted(self, index):
        index.put([])
        index.delete([])
        assert index.get([]) == {}

    def test_texts_of_ten_megabytes_are_stored_and_searchable(self, index):
        text = " ".join(f"w{number % 50_000}" for number in range(1_600_000)) + " finalword"
        assert len(text) > 10_000_000
        index.put([document("large", text)])
        assert search_names(index, "finalword") == {"large"}
        assert index.get([sha1hex("large")])[sha1hex("large")].text_content == text

    def test_lone_surrogates_are_removed(self, index):
        index.put(
            [
                document(
                    "odd", "broken \udcff pair", "ti\ud800tle", url="https://x.example/odd\udc00"
                )
            ]
        )
        stored = index.get([sha1hex("odd")])[sha1hex("odd")]
        assert (stored.text_content, stored.article_title) == ("broken  pair", "title")
        assert search_names(index, "pair") == {"odd"}
        assert search_names(index, "pair \udcff") == {"odd"}

    def test_dates_of_any_year_are_supported(self, index):
        index.put(
            [
                document("early", publication_date=date(1, 1, 1)),
                document("late", publication_date=date(9999, 12, 31)),
            ]
        )
        assert search_names(index, date_to=date(1000, 1, 1)) == {"early"}
        assert search_names(index, date_from=date(9999, 12, 31)) == {"late"}
        dates = index.search(SearchQuery()).dates
        assert list(dates) == [("0001-01", 1), ("9999-12", 1)]

    def test_concurrent_threads_put_and_search(self, index):
        faults: list[BaseException] = []

        def work(thread: int) -> None:
            try:
                for number in range(4):
                    index.put([document(f"{thread}-{number}", f"thread{thread}")])
                    assert f"{thread}-{number}" in search_names(index, f"thread{thread}")
            except BaseException as fault:  # noqa: BLE001
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert index.count() == 16


class TestQuerySyntax:
    @pytest.fixture(autouse=True)
    def _documents(self, index):
        index.put(
            [
                document(
                    "flood", "The river rose and the town was under water.", "Flood in the valley"
                ),
                document(
                    "drought", "The river ran dry in the hot summer.", "Drought in the valley"
                ),
                document("cup", "The town won the cup after extra time.", "Cup final"),
                document(
                    "essay",
                    "Die Brücke über die Straße bleibt gesperrt.",
                    "L’école est fermée",
                    url="https://blog.example/2024/essay",
                    canonical_domain="blog.example",
                    language="de",
                    kind=Kind.PDF,
                    collection="letters",
                ),
                document("tokyo", "東京タワーは赤い。서울에서 열린 회의.", "大雨の東京"),
            ]
        )

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", {"flood", "drought", "cup", "essay", "tokyo"}),
            ("*", {"flood", "drought", "cup", "essay", "tokyo"}),
            ("river town", {"flood"}),
            ("river AND town", {"flood"}),
            ("river OR town", {"flood", "drought", "cup"}),
            ("river -dry", {"flood"}),
            ("river NOT dry", {"flood"}),
            ("-river -server", {"cup", "essay", "tokyo"}),
            ('"the river"', {"flood", "drought"}),
            ('"river the"', set()),
            ('-"the river" town', {"cup"}),
            ("“the river”", {"flood", "drought"}),
            ("title:valley river", {"flood", "drought"}),
            ("title:river", set()),
            ("title:(cup final)", {"cup"}),
            ("text:flood", set()),
            ("(flood OR cup) town", {"flood", "cup"}),
            ("flood OR cup town", {"flood", "cup"}),
            ("valley (dry OR water) -summer", {"flood"}),
            ("riv*", {"flood", "drought"}),
            ("domain:blog.example", {"essay"}),
            ("-domain:news.example", {"essay"}),
            ("language:DE", {"essay"}),
            ("kind:pdf OR title:cup", {"essay", "cup"}),
            ("collection:letters", {"essay"}),
            ("url:blog.example/2024", {"essay"}),
            ("url:https://blog.example/2024/essay", {"essay"}),
            ("canonical_domain:blog.example AND article_title:ecole", {"essay"}),
            ("BRUCKE", {"essay"}),
            ("brücke", {"essay"}),
            ("bru\u0308cke", {"essay"}),
            ("strasse", {"essay"}),
            ("ÉCOLE fermee", {"essay"}),
            ("東京", {"tokyo"}),
            ("タワー", {"tokyo"}),
            ("京東", set()),
            ("서울", {"tokyo"}),
            ("title:大雨", {"tokyo"}),
        ],
    )
    def test_a_query_finds_its_documents(self, index, text, expected):
        assert search_names(index, text) == expected

    @pytest.mark.parametrize(
        ("text", "token"),
        [
            ("autor:smith river", "autor:smith"),
            ("river kind:film", "kind:film"),
            ("r*", "r*"),
            ("*iver", "*iver"),
            ("ri*er", "ri*er"),
            ("domain:*.example", "domain:*.example"),
            ('"river town"~x', "~x"),
            ("river^2", "^2"),
            ("!!!", "!!!"),
            ("title:", "title:"),
            ("(" * 60 + "river" + ")" * 60, "is nested deeper than"),
            ("river " * 300, "256"),
            ("r" * 5_000, "5,000"),
        ],
    )
    def test_an_invalid_query_names_its_faulty_part(self, index, text, token):
        with pytest.raises(ValueError) as caught:
            index.search(SearchQuery(text))
        assert token in str(caught.value)
        assert str(caught.value).endswith(".")

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(
        st.text(max_size=40)
        | st.lists(
            st.sampled_from(
                [
                    "river",
                    "-",
                    "(",
                    ")",
                    '"',
                    "OR",
                    "AND",
                    "NOT",
                    "title:",
                    "kind:pdf",
                    "riv*",
                    "東",
                    " ",
                ]
            ),
            max_size=20,
        ).map(" ".join)
    )
    def test_any_text_is_searched_or_refused_with_a_sentence(self, index, text):
        try:
            index.search(SearchQuery(text))
        except ValueError as error:
            refusal = str(error)
        else:
            return
        assert refusal[0] in "“T"
        assert refusal.endswith(".")
