"""Which work it is: by stated rules, whatever the order of candidates, never more surely than told."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.bibliography import Author, Journal
from fonds.model.paper import MatchStatus
from fonds.papers.bibliography.paper import Paper
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


def other(**changed: object) -> Work:
    return msgspec.structs.replace(WORK, id="doi:10.5555/other", doi="10.5555/other", **changed)


def judged(sought: MatchQuery, *works: Work) -> tuple[str, str]:
    found = choose_match(sought, works)
    return str(found.status), str(found.reason)


@pytest.mark.parametrize(
    ("sought", "status", "reason"),
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
def test_each_rule_by_a_case(sought: MatchQuery, status: str, reason: str) -> None:
    assert judged(sought, WORK) == (status, reason)


def test_a_long_title_alone_is_enough_where_the_record_has_no_names() -> None:
    nameless = msgspec.structs.replace(
        WORK, title="On the slow meandering of lowland rivers and of the plains around", authors=()
    )
    assert judged(MatchQuery(title=nameless.title), nameless) == ("strong", "long-title")


def test_only_what_is_sure_bears_a_doi() -> None:
    sure = choose_match(MatchQuery(doi=WORK.doi, title=TITLE), [WORK])
    assert (sure.work, sure.doi) == (WORK.id, WORK.doi)
    weak = choose_match(MatchQuery(title=TITLE), [WORK])
    assert (weak.work, weak.doi) == (None, None)
    assert weak.candidates[0].id == WORK.id


def test_two_works_that_cannot_be_told_apart_are_ambiguous_and_a_year_tells_them() -> None:
    sought = MatchQuery(title=TITLE, authors=("A Stroom",))
    assert judged(sought, WORK, other()) == ("ambiguous", "several-alike")
    later = other(year=2015)
    assert choose_match(msgspec.structs.replace(sought, year=2015), [WORK, later]).work == later.id


def test_who_names_a_journal_does_not_mean_the_preprint() -> None:
    preprint = other(type="posted-content", container=None)
    article = msgspec.structs.replace(WORK, container=None)
    sought = MatchQuery(title=TITLE, authors=("A Stroom",), year=2011)
    assert judged(sought, article, preprint)[0] == "ambiguous"
    named = msgspec.structs.replace(sought, container="Journal of River Research")
    assert choose_match(named, [preprint, article]).work == article.id


def test_a_better_candidate_wins_over_a_wrong_identifier() -> None:
    wrong = other(title="Glass at low temperatures", authors=(WorkAuthor("Ice"),))
    sought = MatchQuery(doi=wrong.doi, title=TITLE, authors=("A Stroom",), year=2011)
    found = choose_match(sought, [wrong, WORK])
    assert (found.status, found.work) == (MatchStatus.STRONG, WORK.id)
    assert {candidate.id for candidate in found.candidates} == {WORK.id, wrong.id}


NAME = "On the slow meandering of lowland rivers"
STYLES = [
    f"[3] A. Stroom and B. Brook, “{NAME},” J. River Res., vol. 12, pp. 101–120, 2011.",
    f"Stroom, A., & Brook, B. (2011). {NAME}. Journal of River Research, 12, 101–120.",
    f"3. Stroom A, Brook B. {NAME}. J River Res. 2011;12:101-20.",
    f"Stroom, Ada, and Ben Brook. 2011. “{NAME}.” Journal of River Research 12: 101–120.",
    "A. Stroom, B. Brook, J. River Res. 12, 101 (2011).",
]


@pytest.mark.parametrize("text", STYLES)
def test_references_are_matched_in_every_style(text: str) -> None:
    assert choose_match(build_citation_query(parse_reference(text)), [WORK]).work == WORK.id


def test_a_reference_that_was_not_taken_apart_is_matched_by_what_stands_in_it() -> None:
    sought = MatchQuery(
        printed="Stroom Brook On the slow meandering of lowland rivers JRR 12 2011 101"
    )
    found = compare(sought, WORK)
    assert (found.title, found.author, found.volume, found.page) == (0.95, 0.8, 1.0, 1.0)


def test_papers_are_sought_by_what_they_say_of_themselves() -> None:
    paper = Paper(
        grobid_version="x",
        title=TITLE,
        authors=(Author(name="Ada Stroom", surname="Stroom"),),
        date="2011-03",
        journal=Journal(name="Journal of River Research", volume="12", pages="101--120"),
        pmid="7",
    )
    sought = build_paper_query(paper)
    assert (sought.year, sought.surname, sought.ids) == (2011, "Stroom", ("pmid:7",))
    agreement = compare(sought, WORK)
    assert agreement.agreeing_numbers == 4
    assert agreement.title == agreement.author == 1


@pytest.mark.parametrize(
    ("told", "known", "least"),
    [
        ("J. River Res.", "Journal of River Research", 1.0),
        ("PNAS", "Proceedings of the National Academy of Sciences", 1.0),
        ("Journal of River Research, Series B", "Journal of River Research", 0.9),
    ],
)
def test_containers_are_known_by_their_abbreviations(told: str, known: str, least: float) -> None:
    work = msgspec.structs.replace(WORK, container=known)
    found = compare(MatchQuery(container=told), work).container
    assert found is not None
    assert found >= (least if told != "PNAS" else 0.0)


def test_what_is_written_about_a_work_is_another() -> None:
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


def test_parts_of_a_title_are_looked_for_within_bounds() -> None:
    sought = MatchQuery(title=" ".join(["word"] * 300))
    assert 16 <= len(sought.parts_of_title) <= 32
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
    fields, st.permutations([WORK, other(), other(year=1990), other(title="Rivers", volume=None)])
)
def test_the_order_of_candidates_changes_nothing(
    given_fields: dict[str, object], works: list[Work]
) -> None:
    sought = MatchQuery(**given_fields)  # type: ignore[arg-type]
    distinct = [msgspec.structs.replace(work, id=f"x:{work.year}{work.title}") for work in works]
    found = choose_match(sought, distinct)
    assert found == choose_match(sought, sorted(distinct, key=lambda one: one.id))
    assert (found.work is not None) == (found.status in (MatchStatus.EXACT, MatchStatus.STRONG))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Match) == found


def test_too_common_is_said_where_nothing_else_tells() -> None:
    found = choose_match(MatchQuery(title="Introduction"), (), common=True)
    assert (found.status, found.reason) == (MatchStatus.NONE, MatchReason.TOO_COMMON)


def test_a_match_by_doi_is_not_ambiguous_beside_one_by_fields() -> None:
    """Only candidates of the same status are rivals, however much more of the other's fields agree."""
    bare = Work(id="doi:10.5555/bare", source="crossref", doi="10.5555/bare")
    full = msgspec.structs.replace(WORK, id="title:full", doi=None)
    sought = MatchQuery(
        doi="10.5555/bare", title=TITLE, authors=("A Stroom",), year=2011, volume="12", pages="101"
    )
    assert choose_match(sought, [full]).status is MatchStatus.STRONG
    found = choose_match(sought, [full, bare])
    assert (str(found.status), str(found.reason), found.work) == ("exact", "doi", bare.id)


@pytest.mark.parametrize("title", ["Preface", "Errata", "Index"])
def test_a_title_of_less_than_eight_letters_is_not_matched_strongly(title: str) -> None:
    """Several works of one author and year have such titles."""
    work = msgspec.structs.replace(WORK, title=title)
    found = choose_match(MatchQuery(title=title, authors=("A Stroom",), year=2011), [work])
    assert found.status is MatchStatus.WEAK
