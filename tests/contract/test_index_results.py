"""Promises of the Index port for every backend: ranking, filters, counts and snippets."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from contract.index_backends import BACKENDS, document, open_index, search_names
from fonds.model.file import Kind
from fonds.model.search import MatchMode, SearchQuery, SearchResults
from fonds.ports import Index
from real_servers import backend_params


@pytest.fixture(params=backend_params(BACKENDS))
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    with open_index(request.param, tmp_path / "index") as index:
        yield index


def get_marked_words(results: SearchResults) -> list[str]:
    snippet = results.hits[0].snippet
    return [snippet.text[start:end] for start, end in snippet.marks]


class TestRanking:
    def test_a_match_in_the_title_ranks_higher(self, index):
        filler = [
            document(f"other{number}", "ships and prices", "Harbour news") for number in range(20)
        ]
        index.put(
            [
                *filler,
                document("text", "flood " * 30 + "in the valley", "Valley news"),
                document("title", "The river rose in the valley", "Flood at night"),
            ]
        )
        results = index.search(SearchQuery("flood"))
        assert [hit.document.url.rsplit("/", 1)[-1] for hit in results.hits] == ["title", "text"]
        assert results.hits[0].score > results.hits[1].score > 0

    def test_hits_have_all_fields_except_the_text(self, index):
        full = document("a", "a river", "Title", page_count=2, has_thumbnail=True)
        index.put([full])
        hit = index.search(SearchQuery("river")).hits[0]
        assert hit.document == replace(full, text_content="")

    def test_a_search_is_limited_to_given_ids(self, index):
        index.put([document("a", "river"), document("b", "river"), document("c", "lake")])
        named = [document(name, "").id for name in ("b", "c", "never")]
        results = index.search(SearchQuery("river", ids=named))
        assert [hit.document.id for hit in results.hits] == named[:1]
        assert index.search(SearchQuery("", ids=named)).total == 2
        with pytest.raises(ValueError, match="1,000"):
            index.search(SearchQuery("", ids=["x"] * 1001))

    def test_filters_do_not_change_the_score(self, index):
        index.put([document("a", "river"), document("b", "lake")])
        plain = index.search(SearchQuery("river")).hits[0].score
        filtered = SearchQuery(
            "river", kinds=[Kind.STORY], languages=["en"], date_from=date(2000, 1, 1)
        )
        assert index.search(filtered).hits[0].score == pytest.approx(plain)


class TestFiltersAndOrder:
    @pytest.fixture(autouse=True)
    def _documents(self, index):
        index.put(
            [
                document(
                    "jan", publication_date=date(2024, 1, 31), language="de", collection="one"
                ),
                document("feb", publication_date=date(2024, 2, 1), kind=Kind.PDF, collection="two"),
                document("mar", publication_date=date(2024, 3, 5), canonical_domain="b.example"),
                document(
                    "none", publication_date=None, language=None, canonical_domain="c.example"
                ),
            ]
        )

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"kinds": [Kind.PDF]}, {"feb"}),
            ({"kinds": [Kind.PDF, Kind.STORY]}, {"jan", "feb", "mar", "none"}),
            ({"languages": ["de"]}, {"jan"}),
            ({"languages": ["de", "fr"]}, {"jan"}),
            ({"languages": ["DE"]}, {"jan"}),
            ({"languages": ["none"]}, {"none"}),
            ({"languages": [""]}, {"none"}),
            ({"languages": ["de", "none"]}, {"jan", "none"}),
            ({"domains": ["B.example"]}, {"mar"}),
            ({"text": "language:none"}, {"none"}),
            ({"text": "-language:none"}, {"jan", "feb", "mar"}),
            ({"domains": ["b.example", "c.example"]}, {"mar", "none"}),
            ({"domains": ["example"]}, set()),
            ({"collections": ["one"]}, {"jan"}),
            ({"collections": ["one"], "languages": ["en"]}, set()),
            ({"date_from": date(2024, 2, 1)}, {"feb", "mar"}),
            ({"date_to": date(2024, 2, 1)}, {"jan", "feb"}),
            ({"date_from": date(2024, 1, 31), "date_to": date(2024, 1, 31)}, {"jan"}),
            ({"undated": True}, {"none"}),
        ],
    )
    def test_filters_are_alternatives_per_field_and_combined_across_fields(
        self, index, query, expected
    ):
        assert search_names(index, **query) == expected
        if "text" not in query:
            assert search_names(index, "some text", **query) == expected

    @pytest.mark.parametrize(
        ("sort", "expected"),
        [("newest", ["mar", "feb", "jan", "none"]), ("oldest", ["jan", "feb", "mar", "none"])],
    )
    def test_sorting_by_date_lists_undated_documents_last(self, index, sort, expected):
        results = index.search(SearchQuery(sort=sort))
        assert [hit.document.url.rsplit("/", 1)[-1] for hit in results.hits] == expected

    def test_pages_of_a_result_have_no_gaps(self, index):
        pages = [index.search(SearchQuery(sort="oldest", offset=n, count_max=1)) for n in range(5)]
        names = [[hit.document.url.rsplit("/", 1)[-1] for hit in page.hits] for page in pages]
        assert names == [["jan"], ["feb"], ["mar"], ["none"], []]
        assert {page.total for page in pages} == {4}

    def test_an_empty_page_still_has_counts(self, index):
        results = index.search(SearchQuery(count_max=0))
        assert (results.total, list(results.hits), results.undated) == (4, [], 1)

    def test_pages_beyond_ten_thousand_results_are_refused(self, index):
        assert index.search(SearchQuery(offset=9_990, count_max=10)).total == 4
        with pytest.raises(ValueError, match="10,000"):
            index.search(SearchQuery(offset=9_991, count_max=10))

    @pytest.mark.parametrize(
        "query",
        [
            {"offset": -1},
            {"count_max": -1},
            {"sort": "size"},
            {"facet_values_max": -1},
            {"after": "x"},
            {"after": "x", "sort": "id", "offset": 1},
            {"facet_values_max": 1_001},
            {"languages": ["english"]},
            {"date_from": date(2024, 3, 1), "date_to": date(2024, 2, 1)},
            {"undated": True, "date_from": date(2024, 1, 1)},
            {"undated": True, "date_to": date(2024, 1, 1)},
        ],
    )
    def test_contradictory_or_invalid_queries_are_refused(self, index, query):
        with pytest.raises(ValueError, match="\\."):
            index.search(SearchQuery(**query))


class TestCounts:
    def test_facets_count_all_matches(self, index):
        index.put(
            [
                document("a", "river", kind=Kind.PDF, canonical_domain="a.example"),
                document("b", "river", canonical_domain="a.example", language="de"),
                document("c", "river", canonical_domain="c.example", language=None),
                document("d", "lake", canonical_domain="d.example"),
            ]
        )
        facets = index.search(SearchQuery("river", count_max=1)).facets
        assert {key: list(map(tuple, values)) for key, values in facets.items()} == {
            "kind": [("story", 2), ("pdf", 1)],
            "language": [("", 1), ("de", 1), ("en", 1)],
            "canonical_domain": [("a.example", 2), ("c.example", 1)],
            "collection": [("default", 3)],
        }

    def test_a_facet_has_its_twenty_largest_values(self, index):
        index.put(
            [
                document(f"{site}-{number}", canonical_domain=f"site{site:02}.example")
                for site in range(25)
                for number in range(site + 1)
            ]
        )
        results = index.search(SearchQuery())
        values = list(results.facets["canonical_domain"])
        assert values == [(f"site{site:02}.example", site + 1) for site in range(24, 4, -1)]
        assert dict(results.beyond) == {
            "kind": 0,
            "language": 0,
            "canonical_domain": 1 + 2 + 3 + 4 + 5,
            "collection": 0,
        }
        all_values = index.search(SearchQuery(facet_values_max=1_000))
        assert len(all_values.facets["canonical_domain"]) == 25
        assert all_values.beyond["canonical_domain"] == 0

    def test_months_and_undated_documents_add_up_to_the_total(self, index):
        days = [
            date(2023, 12, 31),
            date(2024, 1, 1),
            date(2024, 1, 31),
            None,
            None,
            date(1999, 7, 2),
        ]
        index.put(
            [document(str(n), "river", publication_date=day) for n, day in enumerate(days)]
            + [document("other", "lake", publication_date=date(2020, 1, 1))]
        )
        results = index.search(SearchQuery("river"))
        assert list(map(tuple, results.dates)) == [("1999-07", 1), ("2023-12", 1), ("2024-01", 2)]
        assert results.undated == 2
        assert results.total == 6


class TestSnippets:
    def test_marks_are_character_positions_in_the_snippet(self, index):
        index.put(
            [document("a", "Öl & <b>Wasser</b>: die größte Überschwemmung 🌊 am Fluß seit 1900.")]
        )
        results = index.search(SearchQuery("uberschwemmung fluss"))
        assert get_marked_words(results) == ["Überschwemmung", "Fluß"]
        assert "<b>Wasser</b>" in results.hits[0].snippet.text

    def test_the_snippet_contains_the_matching_words(self, index):
        text = (
            "nothing here. " * 300 + "At last the comet appeared over the hills. " + "more. " * 300
        )
        index.put([document("a", text)])
        results = index.search(SearchQuery("comet hills"))
        assert get_marked_words(results) == ["comet", "hills"]
        assert len(results.hits[0].snippet.text) <= 400

    def test_the_snippet_is_the_beginning_if_the_text_has_no_match(self, index):
        index.put([document("a", "The first words of a long story. " * 40, "Comet")])
        snippet = index.search(SearchQuery("comet")).hits[0].snippet
        assert snippet.text.startswith("The first words of a long story.")
        assert len(snippet.text) <= 400
        assert not snippet.marks

    def test_matches_in_scripts_without_spaces_are_marked(self, index):
        index.put([document("a", "大雨のため東京タワーは休みです。")])
        assert "".join(get_marked_words(index.search(SearchQuery("東京タワー")))) == "東京タワー"

    def test_a_document_without_text_has_an_empty_snippet(self, index):
        index.put([document("a", "", "Comet")])
        assert index.search(SearchQuery("comet")).hits[0].snippet.text == ""


class TestNothingFound:
    @pytest.fixture(autouse=True)
    def _documents(self, index):
        index.put(
            [
                document("a", "The lightning struck the telescope.", "Storm at night"),
                document("b", "Insurers count the cost of the floods.", language="de"),
            ]
        )

    def test_an_unknown_word_is_reported_with_a_correction(self, index):
        results = index.search(SearchQuery("telescpoe lightning =nowhere"))
        assert results.total == 0
        assert list(results.notes) == [
            "No document contains “telescpoe”; did you mean “telescope”?",
            'No document contains "nowhere".',
        ]
        assert results.corrected_query == "telescope lightning =nowhere"

    def test_the_corrected_query_finds_something(self, index):
        corrected = index.search(SearchQuery("ligthning title:strom")).corrected_query
        assert corrected == "lightning title:storm"
        assert index.search(SearchQuery(corrected)).total == 1

    def test_words_without_a_common_document_are_reported(self, index):
        results = index.search(SearchQuery("lightning insurers"))
        assert list(results.notes) == [
            "Documents match each part of this search, but no document matches all of it."
        ]
        assert results.corrected_query is None

    def test_filters_that_exclude_everything_are_reported(self, index):
        results = index.search(SearchQuery("lightning", languages=["de"]))
        assert list(results.notes) == ["Without the filters, the search finds 1."]

    def test_similar_words_are_words_of_documents(self, index):
        assert list(index.find_similar_words("telescope")) == []
        assert list(index.find_similar_words("telescpoe")) == ["telescope"]
        assert list(index.find_similar_words("abc")) == []
        assert list(index.find_similar_words("x" * 500)) == []

    def test_a_result_with_hits_has_no_notes(self, index):
        results = index.search(SearchQuery("lightning"))
        assert (list(results.notes), results.corrected_query) == ([], None)


class TestBestMatch:
    @pytest.fixture(autouse=True)
    def _documents(self, index):
        index.put(
            [
                document("both", "The flood reached the bridge."),
                document("flood", "A flood came to the valley in the night."),
                document("bridge", "The bridge of the valley is old.", kind=Kind.PDF),
                document("other", "What is the price of bread? How was the harvest?"),
            ]
        )

    def search_best(self, index, text: str, **rest) -> list[str]:
        results = index.search(SearchQuery(text, match=MatchMode.BEST, **rest))
        assert results.match is MatchMode.BEST
        return [hit.document.url.rsplit("/", 1)[-1] for hit in results.hits]

    def test_any_word_matches_and_more_words_rank_higher(self, index):
        assert search_names(index, "flood bridge dam") == set()
        ranked = self.search_best(index, "flood bridge dam")
        assert ranked[0] == "both"
        assert set(ranked) == {"both", "flood", "bridge"}

    def test_stop_words_are_ignored_next_to_other_words(self, index):
        assert set(self.search_best(index, "What is the name of the bridge?")) == {"both", "bridge"}
        assert set(self.search_best(index, "what is the")) == {"both", "flood", "bridge", "other"}

    def test_stop_words_of_other_languages_are_not_ignored(self, index):
        index.put([document("war", "A war began."), document("die", "The die is cast.")])
        assert self.search_best(index, "war archive") == ["war"]
        assert self.search_best(index, "die archive") == ["die"]

    def test_filters_fields_and_exclusions_apply(self, index):
        assert self.search_best(index, "flood dam", kinds=[Kind.PDF]) == []
        assert self.search_best(index, "bridge dam kind:pdf") == ["bridge"]
        assert set(self.search_best(index, "flood dam bridge -old")) == {"both", "flood"}
        assert self.search_best(index, '"the old bridge" title:flood') == []

    def test_groups_are_split_and_phrases_are_not(self, index):
        assert set(self.search_best(index, "(flood dam) OR (price dam)")) == {
            "both",
            "flood",
            "other",
        }
        assert set(self.search_best(index, '"the bridge" harvest')) == {"both", "bridge", "other"}

    def test_invalid_syntax_in_a_sentence_is_ignored(self, index):
        question = 'How old is the "bridge of the valley, and what * was there before?'
        assert index.search(SearchQuery(question)).total == 0
        assert self.search_best(index, question)[0] == "bridge"

    def test_marks_and_facets_use_the_matching_words(self, index):
        results = index.search(SearchQuery("What is the flood dam?", match=MatchMode.BEST))
        (text, marks), *_ = [hit.snippet.text_with_ellipses for hit in results.hits]
        assert [text[start:end] for start, end in marks] == ["flood"]
        assert dict(results.facets["kind"]) == {"story": results.total} == {"story": 2}

    def test_all_unknown_words_are_reported(self, index):
        results = index.search(SearchQuery("levee dam", match=MatchMode.BEST))
        assert list(results.notes) == [
            "No document contains “levee”.",
            "No document contains “dam”.",
        ]


class TestPaging:
    """Sorted by id, all pages together contain every document once."""

    def _list_all(self, index, size: int, before=lambda page: None) -> list[str]:
        names: list[str] = []
        after = None
        for page in range(100):
            before(page)
            query = SearchQuery("river", sort="id", after=after, count_max=size)
            results = index.search(replace(query, with_snippets=False, facet_values_max=0))
            if not results.hits:
                return names
            assert {hit.snippet.text for hit in results.hits} == {""}
            after = results.hits[-1].document.id
            names += [hit.document.url.rsplit("/", 1)[-1] for hit in results.hits]
        raise AssertionError("paging does not end")

    @pytest.mark.parametrize("size", [1, 7, 100])
    def test_pages_contain_every_match_once(self, index, size):
        index.put([document(f"d{n}", "river" if n % 3 else "lake") for n in range(40)])
        listed = self._list_all(index, size)
        assert sorted(listed) == sorted(f"d{n}" for n in range(40) if n % 3)
        assert listed == self._list_all(index, 3)

    def test_changes_during_paging_do_not_move_other_documents(self, index):
        index.put([document(f"d{n}", "river") for n in range(30)])

        def change(page: int) -> None:
            index.put([document(f"new{page}", "river")])
            index.delete([document(f"d{page}").id])

        listed = self._list_all(index, 5, before=change)
        assert len(listed) == len(set(listed))
        assert {f"d{n}" for n in range(15, 30)} <= set(listed)

    def test_every_page_has_the_same_total_and_facets(self, index):
        index.put([document(f"d{n}", "river") for n in range(9)])
        first = index.search(SearchQuery("river", sort="id", count_max=4))
        next_query = SearchQuery("river", sort="id", count_max=4, after=first.hits[-1].document.id)
        second = index.search(next_query)
        assert (first.total, second.total, len(second.hits)) == (9, 9, 4)
        assert dict(second.facets)["kind"] == dict(first.facets)["kind"]

    def test_paging_continues_after_a_deleted_document(self, index):
        index.put([document(f"d{n}", "river") for n in range(9)])
        ids = [hit.document.id for hit in index.search(SearchQuery("river", sort="id")).hits]
        index.delete([ids[3]])
        remaining = index.search(SearchQuery("river", sort="id", after=ids[3])).hits
        assert [hit.document.id for hit in remaining] == ids[4:]
