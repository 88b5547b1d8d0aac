"""The promises of the Index port about earlier versions of stories: found on request, and never else."""

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


def earlier(name: str, text: str, title: str | None = None, day: int = 1) -> EarlierVersion:
    return EarlierVersion(sha1hex(name), f"202403{day:02d}080000", title, text)


def wall(*versions: EarlierVersion) -> IndexDocument:
    return document("wall", NEW, "Harbour wall decided", earlier=versions)


WALL = wall(
    earlier("old", OLD, "Wall for millions", 2), earlier("oldest", OLDEST, "Bakers protest", 1)
)
OTHERS = (document("bread", "A bakery opens.", "Bread"), document("sea", "Wall and euros."))


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
        # No phrase and no nearness reaches from one version into another.
        ('"mayor the brandt"', set()),
        ('"millions bakers"', set()),
        ('"mayor brandt"~100', set()),
    ],
)
def test_words_of_earlier_versions_are_found_where_they_are_asked_for(
    index: Index, query: str, names: set[str]
) -> None:
    index.put([WALL, *OTHERS])
    assert search_names(index, f"version:all {query}") == names
    assert search_names(index, f"{query} VERSION:All") == names
    assert search_names(index, query, in_versions=True) == names


def test_other_searches_are_as_without_versions(index: Index, backend: str, tmp_path: Path) -> None:
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
    asked = [SearchQuery(text, match=match) for text in queries for match in MatchMode]
    index.put([WALL, *OTHERS])
    with open_index(backend, tmp_path / "without") as without:
        without.put([replace(WALL, earlier=()), *OTHERS])
        for query in asked:
            one, other = index.search(query), without.search(query)
            assert (one.total, one.facets, one.dates) == (other.total, other.facets, other.dates)
            for hit, plain in zip(one.hits, other.hits, strict=True):
                assert replace(hit, document=plain.document) == plain
    assert search_names(index, "bakery version:current") == search_names(index, "bakery")


def test_versions_come_back_without_their_texts(index: Index) -> None:
    put = replace(WALL, earlier_left_out=3)
    index.put([put, *OTHERS])
    told = tuple(replace(one, text="") for one in put.earlier)
    assert index.get([put.id]) == {put.id: replace(put, earlier=told)}
    (hit,) = index.search(SearchQuery("residents")).hits
    assert hit.document.earlier == told
    assert search_names(index, cut_versions=True) == {"wall"}


def test_a_version_that_is_put_no_more_is_found_no_more(index: Index) -> None:
    index.put([WALL])
    index.put([wall(WALL.earlier[0])])
    assert search_names(index, "version:all bakery") == set()
    assert search_names(index, "version:all 17") == {"wall"}
    index.put([wall()])
    assert search_names(index, "version:all 17") == set()
    assert search_names(index, "version:all protest") == set()


def test_lone_surrogates_of_versions_are_left_out(index: Index) -> None:
    index.put([wall(earlier("odd", "broken \udcff pair", "ti\ud800tle"))])
    assert search_names(index, "version:all pair") == {"wall"}


def test_a_search_that_finds_nothing_tells_of_earlier_versions(index: Index) -> None:
    index.put([WALL, *OTHERS])
    told = index.search(SearchQuery('"17 million euros"', kinds=["story"]))
    assert (told.total, told.earlier_count, list(told.notes)) == (0, 1, [])
    assert told.earlier_text == 'version:all "17 million euros"'
    assert search_names(index, told.earlier_text) == {"wall"}
    none = index.search(SearchQuery('"17 million euros"', kinds=["pdf"]))
    assert (none.earlier_count, none.earlier_text) == (0, None)
    some = index.search(SearchQuery("brandt zyzzogeton"))
    assert (some.earlier_count, some.earlier_text) == (0, None)
    assert list(some.notes) == [
        "Only earlier versions of 1 story contain “brandt”.",
        "No document contains “zyzzogeton”.",
    ]
    quiet = index.search(SearchQuery("brandt", with_notes=False))
    assert quiet.earlier_count == 0
    asked = index.search(SearchQuery("version:all zyzzogeton"))
    assert (asked.earlier_count, list(asked.notes)) == (0, ["No document contains “zyzzogeton”."])


def test_of_a_sentence_with_an_open_quote_the_words_are_looked_for(index: Index) -> None:
    index.put([WALL])
    told = index.search(SearchQuery('has the bakery to move for "14 million'))
    assert told.total == 0
    assert told.earlier_text == "version:all has the bakery to move for 14 million"
    assert search_names(index, told.earlier_text) == {"wall"}


def test_a_best_match_looks_into_earlier_versions_too(index: Index) -> None:
    index.put([WALL, *OTHERS])
    query = SearchQuery("version:all brandt zyzzogeton", match=MatchMode.BEST)
    assert [hit.document.id for hit in index.search(query).hits] == [WALL.id]
    assert index.search(SearchQuery("brandt zyzzogeton", match=MatchMode.BEST)).total == 0


def test_a_match_in_the_current_version_stands_first(index: Index) -> None:
    current = document("current", OLDEST, "Bakers protest")
    before = document("before", NEW, "Wall", earlier=(earlier("v", OLDEST, "Bakers protest"),))
    index.put([before, current])
    hits = index.search(SearchQuery("version:all bakery")).hits
    assert [hit.document.id for hit in hits] == [current.id, before.id]


@pytest.mark.parametrize(
    ("query", "told"),
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
def test_what_is_no_version_is_refused(index: Index, query: str, told: str) -> None:
    with pytest.raises(QueryError) as refused:
        index.search(SearchQuery(query))
    assert str(refused.value) == told


class TestVersionOfAHit:
    """Which version matches, by the index that knows the texts."""

    @pytest.fixture
    def versioned(self, index: Index, tmp_path: Path) -> VersionedIndex:
        blobs = FolderBlobs(tmp_path / "blobs")
        blobs.put([build_text_blob(one.sha1hex, one.text.encode()) for one in WALL.earlier])
        index.put([WALL, *OTHERS])
        return VersionedIndex(index, blobs, lambda _: ())

    def test_it_is_the_one_with_the_words(self, versioned: VersionedIndex) -> None:
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

    def test_of_several_it_is_the_newest_with_the_most_words(
        self, versioned: VersionedIndex
    ) -> None:
        both = versioned.search(SearchQuery("version:all million")).hits[0].version
        assert both is not None
        assert both.sha1hex == sha1hex("old")
        most = versioned.search(SearchQuery("version:all million mayor euros move brandt")).hits
        assert [hit.version and hit.version.sha1hex for hit in most] == [sha1hex("oldest")]

    def test_a_hit_whose_current_version_matches_has_none(self, versioned: VersionedIndex) -> None:
        hits = versioned.search(SearchQuery("version:all wall")).hits
        assert [hit.version for hit in hits] == [None, None]
        hits = versioned.search(SearchQuery("version:all bakery OR council")).hits
        assert [hit.version for hit in hits] == [None, None]
        (hit,) = versioned.search(SearchQuery("version:all council bakery")).hits
        assert hit.version is not None
        assert hit.version.sha1hex == sha1hex("oldest")

    def test_of_hidden_versions_nothing_is_told(
        self, versioned: VersionedIndex, index: Index
    ) -> None:
        hiding = replace(versioned, find_hidden=lambda _: {sha1hex("oldest")})
        (hit, *_) = hiding.search(SearchQuery("version:all brandt")).hits
        assert hit.version is not None
        assert (hit.version.sha1hex, list(hit.version.snippets)) == (None, [])

    def test_behind_its_bound_it_is_said_that_it_is_an_earlier_one(
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

    def test_what_is_left_out_is_told(self, versioned: VersionedIndex) -> None:
        told = "1 story has more earlier versions, or longer ones, than can be searched."
        assert list(versioned.search(SearchQuery("version:all wall")).notes) == []
        versioned.put([replace(WALL, earlier_left_out=1)])
        assert list(versioned.search(SearchQuery("version:all bread")).notes) == [told]
        assert list(versioned.search(SearchQuery("bread")).notes) == []
        versioned.put([replace(WALL, id="2" * 40, earlier_left_out=2)])
        (many,) = versioned.search(SearchQuery("version:all zyzzogeton bread")).notes[-1:]
        assert many == "2 stories have more earlier versions, or longer ones, than can be searched."
