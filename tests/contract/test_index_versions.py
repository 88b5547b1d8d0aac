"""Promises of the Index port: earlier versions of stories are found only on request."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contract.index_backends import BACKENDS, document, open_index, search_names, sha1hex
from fonds.derivatives.documents import build_text_blob
from fonds.model.document import EarlierVersion, IndexDocument
from fonds.model.search import MatchMode, QueryError, SearchQuery
from fonds.ports import Index
from fonds.search.index import version_search as versions
from fonds.search.index.version_search import VersionedIndex
from fonds.stores.blobs import FolderBlobs
from real_servers import backend_params

NEW = "The cost of the wall is not known yet. Residents wait for the council."
OLD = "The wall costs 17 million euros, said the mayor."
OLDEST = "The Brandt bakery has to move for the wall. The sum is 14 million euros."


@pytest.fixture(params=backend_params(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def index(backend: str, tmp_path: Path) -> Iterator[Index]:
    with open_index(backend, tmp_path / "index") as index:
        yield index


def make_version(name: str, text: str, title: str | None = None, day: int = 1) -> EarlierVersion:
    return EarlierVersion(sha1hex(name), f"202403{day:02d}080000", title, text)


def make_wall(*versions: EarlierVersion) -> IndexDocument:
    return document("wall", NEW, "Harbour wall decided", earlier=versions)


WALL = make_wall(
    make_version("old", OLD, "Wall for millions", 2),
    make_version("oldest", OLDEST, "Bakers protest", 1),
)
OTHER_DOCUMENTS = (
    document("bread", "A bakery opens.", "Bread"),
    document("sea", "Wall and euros."),
)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("bakery", {"wall", "bread"}),
        ("bakeries", {"wall", "bread"}),
        ("=bakeries", set()),
        ('"17 million euros"', {"wall"}),
        ('"brandt bakery"', {"wall"}),
        ("residents bakery", {"wall"}),
        ("title:millions", {"wall"}),
        ("title:bakery", set()),
        ("text:millions", {"wall"}),
        ("text:protest", set()),
        ("protest", {"wall"}),
        ("brandt*", {"wall"}),
        ('"bakery wall"~5', {"wall"}),
        ("protests OR sea", {"wall"}),
        ("wall -bakery", {"sea"}),
        ("kind:story -wall", {"bread"}),
        ("url:bakery", set()),
        # Phrases and proximity never span two versions.
        ('"mayor the brandt"', set()),
        ('"millions bakers"', set()),
        ('"mayor brandt"~100', set()),
    ],
)
def test_version_all_finds_words_of_earlier_versions(
    index: Index, query: str, names: set[str]
) -> None:
    index.put([WALL, *OTHER_DOCUMENTS])
    assert search_names(index, f"version:all {query}") == names
    assert search_names(index, f"{query} VERSION:All") == names
    assert search_names(index, query, in_versions=True) == names


def test_other_searches_ignore_earlier_versions(index: Index, backend: str, tmp_path: Path) -> None:
    queries = (
        "wall",
        "bakery",
        "council",
        '"the wall"',
        "wall*",
        "title:wall",
        "-bakery",
        "million",
    )
    searches = [SearchQuery(text, match=match) for text in queries for match in MatchMode]
    index.put([WALL, *OTHER_DOCUMENTS])
    with open_index(backend, tmp_path / "without") as plain_index:
        plain_index.put([replace(WALL, earlier=()), *OTHER_DOCUMENTS])
        for query in searches:
            actual, expected = index.search(query), plain_index.search(query)
            assert (actual.total, actual.facets, actual.dates) == (
                expected.total,
                expected.facets,
                expected.dates,
            )
            for hit, plain in zip(actual.hits, expected.hits, strict=True):
                assert replace(hit, document=plain.document) == plain
    assert search_names(index, "bakery version:current") == search_names(index, "bakery")


def test_returned_documents_have_versions_without_texts(index: Index) -> None:
    stored = replace(WALL, earlier_left_out=3)
    index.put([stored, *OTHER_DOCUMENTS])
    versions_without_text = tuple(replace(version, text="") for version in stored.earlier)
    assert index.get([stored.id]) == {stored.id: replace(stored, earlier=versions_without_text)}
    (hit,) = index.search(SearchQuery("residents")).hits
    assert hit.document.earlier == versions_without_text
    assert search_names(index, cut_versions=True) == {"wall"}


def test_a_removed_version_is_not_found(index: Index) -> None:
    index.put([WALL])
    index.put([make_wall(WALL.earlier[0])])
    assert search_names(index, "version:all bakery") == set()
    assert search_names(index, "version:all 17") == {"wall"}
    index.put([make_wall()])
    assert search_names(index, "version:all 17") == set()
    assert search_names(index, "version:all protest") == set()


def test_lone_surrogates_of_versions_are_removed(index: Index) -> None:
    index.put([make_wall(make_version("odd", "broken \udcff pair", "ti\ud800tle"))])
    assert search_names(index, "version:all pair") == {"wall"}


def test_an_empty_result_counts_matching_earlier_versions(index: Index) -> None:
    index.put([WALL, *OTHER_DOCUMENTS])
    results = index.search(SearchQuery('"17 million euros"', kinds=["story"]))
    assert (results.total, results.earlier_count, list(results.notes)) == (0, 1, [])
    assert results.earlier_text == 'version:all "17 million euros"'
    assert search_names(index, results.earlier_text) == {"wall"}
    no_results = index.search(SearchQuery('"17 million euros"', kinds=["pdf"]))
    assert (no_results.earlier_count, no_results.earlier_text) == (0, None)
    partial_results = index.search(SearchQuery("brandt zyzzogeton"))
    assert (partial_results.earlier_count, partial_results.earlier_text) == (0, None)
    assert list(partial_results.notes) == [
        "Only earlier versions of 1 story contain “brandt”.",
        "No document contains “zyzzogeton”.",
    ]
    results_without_notes = index.search(SearchQuery("brandt", with_notes=False))
    assert results_without_notes.earlier_count == 0
    version_results = index.search(SearchQuery("version:all zyzzogeton"))
    assert (version_results.earlier_count, list(version_results.notes)) == (
        0,
        ["No document contains “zyzzogeton”."],
    )


def test_an_open_quote_in_a_sentence_is_ignored_for_earlier_versions(index: Index) -> None:
    index.put([WALL])
    results = index.search(SearchQuery('has the bakery to move for "14 million'))
    assert results.total == 0
    assert results.earlier_text == "version:all has the bakery to move for 14 million"
    assert search_names(index, results.earlier_text) == {"wall"}


def test_best_match_supports_earlier_versions(index: Index) -> None:
    index.put([WALL, *OTHER_DOCUMENTS])
    query = SearchQuery("version:all brandt zyzzogeton", match=MatchMode.BEST)
    assert [hit.document.id for hit in index.search(query).hits] == [WALL.id]
    assert index.search(SearchQuery("brandt zyzzogeton", match=MatchMode.BEST)).total == 0


def test_a_match_in_the_current_version_ranks_higher(index: Index) -> None:
    current = document("current", OLDEST, "Bakers protest")
    before = document("before", NEW, "Wall", earlier=(make_version("v", OLDEST, "Bakers protest"),))
    index.put([before, current])
    hits = index.search(SearchQuery("version:all bakery")).hits
    assert [hit.document.id for hit in hits] == [current.id, before.id]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("version:old bakery", "“version:old”: version is all or current."),
        (
            "-version:all bakery",
            "“version:all”: only words and values can be excluded, not versions.",
        ),
        ("NOT version:all", "“version:all”: only words and values can be excluded, not versions."),
        ("bakery version:", "“version:”: write version:all or version:current."),
        ("version:(all)", "“version:”: write version:all or version:current."),
    ],
)
def test_invalid_version_terms_are_refused(index: Index, query: str, message: str) -> None:
    with pytest.raises(QueryError) as refused:
        index.search(SearchQuery(query))
    assert str(refused.value) == message


class TestVersionOfAHit:
    """The index with texts determines which version matches."""

    @pytest.fixture
    def versioned(self, index: Index, tmp_path: Path) -> VersionedIndex:
        blobs = FolderBlobs(tmp_path / "blobs")
        blobs.put(
            [build_text_blob(version.sha1hex, version.text.encode()) for version in WALL.earlier]
        )
        index.put([WALL, *OTHER_DOCUMENTS])
        return VersionedIndex(index, blobs, lambda _: ())

    def test_the_version_of_a_hit_contains_the_words(self, versioned: VersionedIndex) -> None:
        (hit,) = versioned.search(SearchQuery('version:all "17 million euros"')).hits
        assert hit.version is not None
        version = WALL.earlier[0]
        assert (hit.version.sha1hex, hit.version.captured) == (version.sha1hex, version.captured)
        (snippet,) = hit.version.snippets
        ((start, end),) = snippet.marks
        assert snippet.text[start:end] == "17 million euros"
        (title,) = versioned.search(SearchQuery("version:all title:protests")).hits
        assert title.version is not None
        assert title.version.title == "Bakers protest"
        assert list(title.version.title_marks) == [(7, 14)]

    def test_the_newest_version_with_the_most_words_is_chosen(
        self, versioned: VersionedIndex
    ) -> None:
        version = versioned.search(SearchQuery("version:all million")).hits[0].version
        assert version is not None
        assert version.sha1hex == sha1hex("old")
        hits = versioned.search(SearchQuery("version:all million mayor euros move brandt")).hits
        assert [hit.version and hit.version.sha1hex for hit in hits] == [sha1hex("oldest")]

    def test_a_hit_in_the_current_version_has_no_earlier_version(
        self, versioned: VersionedIndex
    ) -> None:
        hits = versioned.search(SearchQuery("version:all wall")).hits
        assert [hit.version for hit in hits] == [None, None]
        hits = versioned.search(SearchQuery("version:all bakery OR council")).hits
        assert [hit.version for hit in hits] == [None, None]
        (hit,) = versioned.search(SearchQuery("version:all council bakery")).hits
        assert hit.version is not None
        assert hit.version.sha1hex == sha1hex("oldest")

    def test_a_hidden_version_has_no_sha1_and_no_snippet(
        self, versioned: VersionedIndex, index: Index
    ) -> None:
        hiding = replace(versioned, find_hidden=lambda _: {sha1hex("oldest")})
        (hit, *_) = hiding.search(SearchQuery("version:all brandt")).hits
        assert hit.version is not None
        assert (hit.version.sha1hex, list(hit.version.snippets)) == (None, [])

    def test_a_version_beyond_the_limits_has_no_sha1(
        self, versioned: VersionedIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(versions, "VERSIONS_MAX", 1)
        (hit,) = versioned.search(SearchQuery("version:all brandt")).hits
        assert hit.version is not None
        assert hit.version.sha1hex is None
        monkeypatch.setattr(versions, "VERSIONS_MAX", 2)
        monkeypatch.setattr(versions, "MAX_CHARS", 10)
        (hit,) = versioned.search(SearchQuery("version:all brandt")).hits
        assert hit.version is not None
        assert hit.version.sha1hex is None

    def test_omitted_versions_are_reported_in_a_note(self, versioned: VersionedIndex) -> None:
        note = "1 story has more earlier versions, or longer ones, than can be searched."
        assert list(versioned.search(SearchQuery("version:all wall")).notes) == []
        versioned.put([replace(WALL, earlier_left_out=1)])
        assert list(versioned.search(SearchQuery("version:all bread")).notes) == [note]
        assert list(versioned.search(SearchQuery("bread")).notes) == []
        versioned.put([replace(WALL, id="2" * 40, earlier_left_out=2)])
        (last_note,) = versioned.search(SearchQuery("version:all zyzzogeton bread")).notes[-1:]
        assert (
            last_note
            == "2 stories have more earlier versions, or longer ones, than can be searched."
        )
