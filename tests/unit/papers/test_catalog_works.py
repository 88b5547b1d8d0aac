"""Catalogue records: each form is parsed to the same work, and others are refused with a reason."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.papers.catalog.records import (
    RefusalReason,
    RefusedRecord,
    decode_json,
    iter_records,
    parse_work,
)
from fonds.papers.catalog.slugs import build_slug, normalize_number, parse_first_page
from fonds.papers.catalog.work import (
    Work,
    WorkAuthor,
    decode_work,
    encode_work,
    merge_records,
    parse_name,
)

CROSSREF = {
    "DOI": "10.5555/River.1",
    "type": "journal-article",
    "title": ["Rivers &amp; <i>their</i> beds"],
    "subtitle": ["A survey"],
    "author": [{"given": "Ada", "family": "van Stroom"}, {"name": "The River Group"}],
    "issued": {"date-parts": [[2011, 3]]},
    "container-title": ["Journal of Rivers"],
    "short-container-title": ["J. Riv."],
    "ISSN": ["2049-3630", "1111-1111"],
    "volume": "12",
    "issue": "3",
    "page": "101-120",
}
FATCAT = {
    "ident": "aaaa",
    "release_type": "article-journal",
    "ext_ids": {"doi": "10.5555/river.1", "pmid": "123", "arxiv": "1101.00001v2"},
    "title": "Rivers and their beds",
    "contribs": [
        {"raw_name": "Ada van Stroom", "role": "author"},
        {"raw_name": "E", "role": "editor"},
    ],
    "release_year": 2011,
    "container": {"name": "Journal of Rivers", "issnl": "2049-3630"},
    "volume": "12",
    "pages": "101-120",
}
OPENALEX = {
    "id": "https://openalex.org/W42",
    "doi": "https://doi.org/10.5555/RIVER.1",
    "title": "Rivers and their beds",
    "authorships": [{"author": {"display_name": "Ada van Stroom"}}],
    "publication_year": 2011,
    "primary_location": {"source": {"display_name": "Journal of Rivers", "issn": ["2049-3630"]}},
    "biblio": {"volume": "12", "first_page": "101", "last_page": "120"},
    "type": "article",
}
BIBJSON = {
    "title": "Rivers and their beds",
    "author": [{"name": "van Stroom, Ada"}],
    "identifier": [{"type": "doi", "id": "10.5555/river.1"}],
    "journal": {"name": "Journal of Rivers", "volume": "12", "pages": "101--120"},
    "year": "2011",
}


@pytest.mark.parametrize(
    ("record", "source"),
    [(CROSSREF, "crossref"), (FATCAT, "fatcat"), (OPENALEX, "openalex"), (BIBJSON, "bibjson")],
)
def test_every_form_is_parsed_to_the_same_work(record: dict[str, Any], source: str) -> None:
    work = parse_work(record)
    assert isinstance(work, Work)
    assert (work.id, work.source, work.doi) == ("doi:10.5555/river.1", source, "10.5555/river.1")
    assert build_slug(work.title) == "riversandtheirbeds"
    assert work.authors[0] == WorkAuthor("van Stroom", "Ada")
    assert (work.year, work.container, work.volume) == (2011, "Journal of Rivers", "12")
    assert parse_first_page(work.pages) == "101"
    assert decode_work(encode_work(work)) == work


def test_fields_only_in_crossref_are_kept() -> None:
    work = parse_work(CROSSREF)
    assert isinstance(work, Work)
    assert work.full_title == "Rivers & their beds: A survey"
    assert work.issn == ("2049-3630",)
    assert work.authors[1].surname == "Group"
    assert (work.issue, work.container_short) == ("3", "J. Riv.")


def test_a_work_without_doi_gets_the_next_identifier() -> None:
    def get_id(record: dict[str, Any]) -> str:
        work = parse_work(record)
        assert isinstance(work, Work)
        return work.id

    assert (
        get_id({**FATCAT, "ext_ids": {"arxiv": "1101.00001v2", "pmid": "1"}}) == "arxiv:1101.00001"
    )
    assert get_id({**FATCAT, "ext_ids": {"pmid": "123"}}) == "pmid:123"
    assert get_id({**FATCAT, "ext_ids": {}}) == "fatcat:aaaa"
    assert get_id({**OPENALEX, "doi": None}) == "openalex:W42"
    bare = {name: value for name, value in BIBJSON.items() if name != "identifier"}
    assert get_id(bare) == get_id(dict(reversed(bare.items())))
    assert get_id(bare).startswith("bibjson:")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ([1], RefusalReason.NOT_A_RECORD),
        ({"name": "x"}, RefusalReason.NOT_A_RECORD),
        ({**CROSSREF, "DOI": "river"}, RefusalReason.NO_IDENTIFIER),
        ({**CROSSREF, "type": "journal"}, RefusalReason.NOT_A_WORK),
        ({**CROSSREF, "title": [], "subtitle": [], "author": []}, RefusalReason.NO_TITLE),
        ({**FATCAT, "state": "deleted"}, RefusalReason.NOT_A_WORK),
        ({**FATCAT, "ident": None}, RefusalReason.NO_IDENTIFIER),
        ({**OPENALEX, "type": "paratext"}, RefusalReason.NOT_A_WORK),
    ],
)
def test_an_invalid_record_is_refused_with_its_reason(record: Any, reason: RefusalReason) -> None:
    work = parse_work(record)
    assert isinstance(work, RefusedRecord)
    assert work.reason is reason


def test_records_are_found_in_lists_and_responses() -> None:
    wrapped: list[Any] = [
        {"items": [1, 2]},
        [1, 2],
        {"message": {"items": [1, 2]}},
        {"results": [1, 2]},
        {"records": [1, 2]},
    ]
    assert [list(iter_records(document)) for document in wrapped] == [[1, 2]] * 5
    assert list(iter_records({"status": "ok", "message": CROSSREF})) == [CROSSREF]
    assert list(iter_records(CROSSREF)) == [CROSSREF]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = sorted({*CROSSREF, *FATCAT, *OPENALEX, *BIBJSON})


@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_any_record_is_a_work_or_refused(record: dict[str, Any]) -> None:
    work = parse_work(record)
    if isinstance(work, Work):
        assert decode_work(encode_work(work)) == work


@given(st.binary(max_size=60))
def test_any_bytes_are_json_or_raise_a_value_error(data: bytes) -> None:
    try:
        decode_json(data)
    except ValueError:
        return
    assert msgspec.json.decode(data) is not Ellipsis


def test_slugs_ignore_case_accents_markup_and_punctuation() -> None:
    titles = [
        "Über <i>β</i>-Strukturen &amp; Flüsse",
        "uber Beta strukturen and flusse",
        "ÜBER β–STRUKTUREN & FLÜSSE",
    ]
    assert {build_slug(title) for title in titles} == {"uberbetastrukturenandflusse"}
    assert build_slug(None) == build_slug("—!?") == ""


def test_pages_and_numbers_are_normalized() -> None:
    assert [parse_first_page(pages) for pages in ("101-120", "pp. 0101", "E12–E19", "", None)] == [
        "101",
        "101",
        "e12",
        "",
        "",
    ]
    assert [normalize_number(text) for text in ("012", "A 12", None)] == ["12", "a12", ""]


def test_names_are_split_into_surname_and_given_name() -> None:
    assert parse_name("Ada M. van der Stroom") == WorkAuthor("van der Stroom", "Ada M.")
    assert parse_name("Stroom, Ada") == WorkAuthor("Stroom", "Ada")
    assert parse_name("Stroom") == WorkAuthor("Stroom", "")
    assert parse_name(", Ada") is parse_name("") is parse_name(7 * [None]) is None


def test_a_merged_field_comes_from_the_first_source_with_it() -> None:
    first, second = parse_work(CROSSREF), parse_work(FATCAT)
    assert isinstance(first, Work)
    assert isinstance(second, Work)
    merged = merge_records({"fatcat": second, "crossref": first})
    assert merged is not None
    assert (merged.title, merged.pmid, merged.source) == (first.title, "123", "crossref")
    assert merge_records({}) is None


def test_dois_that_differ_after_a_bracket_are_different_works() -> None:
    stem = "10.1002/(SICI)1097-4571(199806)49:8<"
    dois = [stem + "693::AID-ASI4>3.0.CO;2-O", stem + "701::AID-ASI5>3.0.CO;2-Y"]
    works = [parse_work({"DOI": doi, "type": "journal-article", "title": ["A"]}) for doi in dois]
    assert [work.id for work in works if isinstance(work, Work)] == [
        f"doi:{d.lower()}" for d in dois
    ]
