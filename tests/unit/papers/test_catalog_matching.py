"""Choosing a work: by fixed rules, in any order of candidates, and with the strength of the evidence."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.bibliography import Author, Journal, Paper
from fonds.model.paper import MatchStatus
from fonds.papers.bibliography.reference_parser import parse_reference
from fonds.papers.catalog.comparison import compare, find_other_work_words
from fonds.papers.catalog.match import Match, MatchReason, choose_match
from fonds.papers.catalog.match_query import MatchQuery, build_citation_query, build_paper_query
from fonds.papers.catalog.work import Work, WorkAuthor

WORK = Work(
    id="doi:10.5555/river.1",
    source="crossref",
    title="On the slow meandering of lowland rivers",
    authors=(WorkAuthor("Stroom", "Ada"), WorkAuthor("Brook", "Ben")),
    year=2011,
    container="Journal of River Research",
    volume="12",
    pages="101-120",
    doi="10.5555/river.1",
)
TITLE = WORK.title or ""


def build_other_work(**changed: object) -> Work:
    return msgspec.structs.replace(WORK, id="doi:10.5555/other", doi="10.5555/other", **changed)


def judge(query: MatchQuery, *works: Work) -> tuple[str, str]:
    result = choose_match(query, works)
    return str(result.status), str(result.reason)


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        (MatchQuery(doi=WORK.doi, title=TITLE), "exact", "doi"),
        (MatchQuery(doi=WORK.doi), "exact", "doi"),
        (
            MatchQuery(doi=WORK.doi, title="Wholly other words here", authors=("A. Stroom",)),
            "strong",
            "doi-and-author",
        ),
        (
            MatchQuery(doi=WORK.doi, title="Wholly other words here", authors=("X. Nobody",)),
            "weak",
            "doi-of-another-title",
        ),
        (MatchQuery(title=TITLE.upper(), authors=("A Stroom",)), "strong", "title-and-author"),
        (
            MatchQuery(title=f"Working Paper 7 {TITLE}", authors=("Stroom, A.",)),
            "strong",
            "title-and-author",
        ),
        (MatchQuery(title=TITLE, authors=("A Stroom",), year=2012), "strong", "title-and-author"),
        (MatchQuery(title=TITLE, authors=("A Stroom",), year=2016), "weak", "similar"),
        (MatchQuery(title=TITLE, authors=("A Stroom",), doi="10.5555/else"), "weak", "another-doi"),
        (MatchQuery(title=TITLE), "weak", "similar"),
        (MatchQuery(title=TITLE, year=2011), "weak", "similar"),
        (MatchQuery(title=TITLE, year=2011, volume="12"), "strong", "title-and-numbers"),
        (MatchQuery(title=TITLE, year=2016, volume="12", pages="101"), "weak", "similar"),
        (
            MatchQuery(title=f"Erratum: {TITLE}", authors=("A Stroom",)),
            "none",
            "candidates-disagree",
        ),
        (
            MatchQuery(authors=("A Stroom",), year=2011, volume="12", pages="101"),
            "strong",
            "author-and-numbers",
        ),
        (
            MatchQuery(authors=("A Stroom",), year=2011, volume="12", pages="99"),
            "none",
            "candidates-disagree",
        ),
        (MatchQuery(), "none", "nothing-sought"),
    ],
)
def test_each_rule_has_a_case(query: MatchQuery, status: str, reason: str) -> None:
    assert judge(query, WORK) == (status, reason)


def test_a_long_title_matches_a_record_without_authors() -> None:
    nameless = msgspec.structs.replace(
        WORK, title="On the slow meandering of lowland rivers and of the plains around", authors=()
    )
    assert judge(MatchQuery(title=nameless.title), nameless) == ("strong", "long-title")


def test_only_a_sure_match_has_a_doi() -> None:
    sure = choose_match(MatchQuery(doi=WORK.doi, title=TITLE), [WORK])
    assert (sure.work, sure.doi) == (WORK.id, WORK.doi)
    weak = choose_match(MatchQuery(title=TITLE), [WORK])
    assert (weak.work, weak.doi) == (None, None)
    assert weak.candidates[0].id == WORK.id


def test_indistinguishable_works_are_ambiguous_and_a_year_decides() -> None:
    query = MatchQuery(title=TITLE, authors=("A Stroom",))
    assert judge(query, WORK, build_other_work()) == ("ambiguous", "several-alike")
    later = build_other_work(year=2015)
    assert choose_match(msgspec.structs.replace(query, year=2015), [WORK, later]).work == later.id


def test_a_query_with_a_journal_does_not_match_the_preprint() -> None:
    preprint = build_other_work(type="posted-content", container=None)
    article = msgspec.structs.replace(WORK, container=None)
    query = MatchQuery(title=TITLE, authors=("A Stroom",), year=2011)
    assert judge(query, article, preprint)[0] == "ambiguous"
    query_with_journal = msgspec.structs.replace(query, container="Journal of River Research")
    assert choose_match(query_with_journal, [preprint, article]).work == article.id


def test_a_better_candidate_wins_over_a_wrong_identifier() -> None:
    wrong = build_other_work(title="Glass at low temperatures", authors=(WorkAuthor("Ice"),))
    query = MatchQuery(doi=wrong.doi, title=TITLE, authors=("A Stroom",), year=2011)
    result = choose_match(query, [wrong, WORK])
    assert (result.status, result.work) == (MatchStatus.STRONG, WORK.id)
    assert {candidate.id for candidate in result.candidates} == {WORK.id, wrong.id}


NAME = "On the slow meandering of lowland rivers"
STYLES = [
    f"[3] A. Stroom and B. Brook, “{NAME},” J. River Res., vol. 12, pp. 101–120, 2011.",
    f"Stroom, A., & Brook, B. (2011). {NAME}. Journal of River Research, 12, 101–120.",
    f"3. Stroom A, Brook B. {NAME}. J River Res. 2011;12:101-20.",
    f"Stroom, Ada, and Ben Brook. 2011. “{NAME}.” Journal of River Research 12: 101–120.",
    "A. Stroom, B. Brook, J. River Res. 12, 101 (2011).",
]


@pytest.mark.parametrize("text", STYLES)
def test_references_in_every_style_are_matched(text: str) -> None:
    assert choose_match(build_citation_query(parse_reference(text)), [WORK]).work == WORK.id


def test_an_unparsed_reference_is_compared_by_its_printed_text() -> None:
    query = MatchQuery(
        printed="Stroom Brook On the slow meandering of lowland rivers JRR 12 2011 101"
    )
    result = compare(query, WORK)
    assert (result.title, result.author, result.volume, result.page) == (0.95, 0.8, 1.0, 1.0)


def test_a_paper_query_uses_the_metadata_of_the_paper() -> None:
    paper = Paper(
        grobid_version="x",
        title=TITLE,
        authors=(Author(name="Ada Stroom", surname="Stroom"),),
        date="2011-03",
        journal=Journal(name="Journal of River Research", volume="12", pages="101--120"),
        pmid="7",
    )
    query = build_paper_query(paper)
    assert (query.year, query.surname, query.ids) == (2011, "Stroom", ("pmid:7",))
    agreement = compare(query, WORK)
    assert agreement.agreeing_numbers == 4
    assert agreement.title == agreement.author == 1


@pytest.mark.parametrize(
    ("container", "known_container", "score_min"),
    [
        ("J. River Res.", "Journal of River Research", 1.0),
        ("PNAS", "Proceedings of the National Academy of Sciences", 1.0),
        ("Journal of River Research, Series B", "Journal of River Research", 0.9),
    ],
)
def test_containers_match_their_abbreviations(
    container: str, known_container: str, score_min: float
) -> None:
    work = msgspec.structs.replace(WORK, container=known_container)
    result = compare(MatchQuery(container=container), work).container
    assert result is not None
    assert result >= (score_min if container != "PNAS" else 0.0)


def test_errata_and_replies_do_not_match_the_original_work() -> None:
    assert find_other_work_words("Correction to: On rivers") == {"correction"}
    assert find_other_work_words("On rivers — a reply") == {"reply"}
    assert (
        find_other_work_words("How tides ask for a correction in the long course of rivers")
        == set()
    )
    erratum = msgspec.structs.replace(WORK, title=f"Erratum: {TITLE}")
    assert choose_match(MatchQuery(title=TITLE, authors=("A Stroom",)), [erratum]).work is None
    assert (
        choose_match(MatchQuery(title=erratum.title, authors=("A Stroom",)), [erratum]).work
        == WORK.id
    )


def test_parts_of_a_title_are_limited_in_number() -> None:
    query = MatchQuery(title=" ".join(["word"] * 300))
    assert 16 <= len(query.parts_of_title) <= 32
    assert len(MatchQuery(printed=". ".join(["Some words of a sentence here"] * 90)).titles) <= 8


texts = st.text(max_size=40)
fields = st.fixed_dictionaries(
    {},
    optional={
        "title": texts,
        "authors": st.lists(texts, max_size=4).map(tuple),
        "year": st.integers(1400, 2100),
        "container": texts,
        "volume": texts,
        "pages": texts,
        "doi": st.sampled_from(["10.5555/river.1", "10.5555/none"]),
        "printed": texts,
        "surname": texts,
    },
)


@given(
    fields,
    st.permutations(
        [
            WORK,
            build_other_work(),
            build_other_work(year=1990),
            build_other_work(title="Rivers", volume=None),
        ]
    ),
)
def test_the_order_of_candidates_does_not_change_the_match(
    given_fields: dict[str, object], works: list[Work]
) -> None:
    query = MatchQuery(**given_fields)  # type: ignore[arg-type]
    distinct = [msgspec.structs.replace(work, id=f"x:{work.year}{work.title}") for work in works]
    result = choose_match(query, distinct)
    assert result == choose_match(query, sorted(distinct, key=lambda candidate: candidate.id))
    assert (result.work is not None) == (result.status in (MatchStatus.EXACT, MatchStatus.STRONG))
    assert msgspec.json.decode(msgspec.json.encode(result), type=Match) == result


def test_a_common_title_alone_is_reported_as_too_common() -> None:
    result = choose_match(MatchQuery(title="Introduction"), (), common=True)
    assert (result.status, result.reason) == (MatchStatus.NONE, MatchReason.TOO_COMMON)


def test_a_match_by_doi_is_not_ambiguous_with_a_match_by_fields() -> None:
    """Only candidates of equal status compete, even if more fields of the other one agree."""
    bare = Work(id="doi:10.5555/bare", source="crossref", doi="10.5555/bare")
    full = msgspec.structs.replace(WORK, id="title:full", doi=None)
    query = MatchQuery(
        doi="10.5555/bare", title=TITLE, authors=("A Stroom",), year=2011, volume="12", pages="101"
    )
    assert choose_match(query, [full]).status is MatchStatus.STRONG
    result = choose_match(query, [full, bare])
    assert (str(result.status), str(result.reason), result.work) == ("exact", "doi", bare.id)


@pytest.mark.parametrize("title", ["Preface", "Errata", "Index"])
def test_a_title_shorter_than_eight_letters_is_a_weak_match(title: str) -> None:
    """Several works of one author and year can have such titles."""
    work = msgspec.structs.replace(WORK, title=title)
    result = choose_match(MatchQuery(title=title, authors=("A Stroom",), year=2011), [work])
    assert result.status is MatchStatus.WEAK
