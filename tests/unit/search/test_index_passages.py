"""Choosing passages of a text and marking matches in them."""

from hypothesis import given
from hypothesis import strategies as st

from cpu_growth import assert_linear_cpu
from fonds.search.index.passages import (
    PASSAGES_MAX,
    find_passage,
    find_passages,
    find_title_marks,
)
from fonds.search.query.tree import Term
from fonds.text.words import SCANNED_MAX_CHARS, split_words


def mark_matches(text: str, *terms: Term) -> list[str]:
    snippet = find_passage(text, terms)
    return [snippet.text[start:end] for start, end in snippet.marks]


def test_only_whole_words_are_marked():
    assert mark_matches("A river, two rivers, riverside RIVER.", Term("river")) == [
        "river",
        "RIVER",
    ]


def test_a_phrase_is_marked_as_a_unit():
    assert mark_matches("New town, new river; a New   River!", Term("new river")) == [
        "new river",
        "New River",
    ]


def test_a_prefix_marks_the_word():
    assert mark_matches("Rivers and riverbanks", Term("river", is_prefix=True)) == [
        "Rivers",
        "riverbanks",
    ]


def test_the_longest_of_overlapping_terms_is_marked():
    assert mark_matches("the new river", Term("river"), Term("new river")) == ["new river"]


def test_a_phrase_in_a_spaceless_script_is_marked_as_one():
    assert mark_matches("今日の東京タワー", Term("東京")) == ["東京"]


def test_combining_and_composed_accents_are_marked():
    assert mark_matches("Une e\u0301cole, l'École", Term("école")) == ["école", "École"]


def test_a_character_with_several_words_is_marked_once():
    assert mark_matches("これは㍿です", Term("株"), Term("会")) == ["㍿"]


def test_the_passage_with_the_most_matches_is_chosen():
    text = "One comet. " + "Nothing at all. " * 50 + "The comet left a long tail over the hills."
    assert mark_matches(text, Term("comet"), Term("tail"), Term("hills")) == [
        "comet",
        "tail",
        "hills",
    ]


def test_whitespace_and_control_characters_become_one_space():
    snippet = find_passage("the\n\n\x0c\x00 river \t rose\x1b", (Term("river"),))
    assert snippet.text == "the river rose"
    assert snippet.marks == ((4, 9),)


def test_the_passage_begins_and_ends_between_words():
    text = " ".join(f"number{n}" for n in range(400)).replace("number200", "comet")
    snippet = find_passage(text, (Term("comet"),))
    assert set(snippet.text.split()) <= set(text.split())
    assert len(snippet.text) <= 360


def test_matches_at_the_end_of_a_long_text_are_found():
    text = "filler " * 10_000 + "the comet"
    assert mark_matches(text, Term("comet")) == ["comet"]


def test_a_text_without_matches_shows_its_beginning():
    assert (
        find_passage("\n\n  The beginning of it.", (Term("absent"),)).text == "The beginning of it."
    )
    assert find_passage("The beginning of it.", ()).text == "The beginning of it."
    assert find_passage("", (Term("a"),)).text == ""


def test_a_long_word_is_cut():
    assert len(find_passage("x" * 100_000, ()).text) <= 360
    assert len(find_passage("x" * 100_000 + " comet", (Term("comet"),)).text) <= 360


def test_only_the_beginning_of_a_huge_text_is_scanned():
    assert mark_matches("é " * (SCANNED_MAX_CHARS // 2) + "comet", Term("comet")) == []
    assert_linear_cpu(lambda count: mark_matches("é " * count, Term("comet")), SCANNED_MAX_CHARS)


@given(
    st.text(alphabet="ab é\u0301東京ß\u00ad\n\x00.㍿", max_size=300),
    st.lists(st.text(alphabet="abé東京ß", min_size=1, max_size=3), max_size=3),
)
def test_marks_are_in_order_and_on_matching_words(text: str, words: list[str]):
    terms = [Term(word) for word in words]
    snippet = find_passage(text, terms)
    edges = [edge for mark in snippet.marks for edge in mark]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(snippet.text) for edge in edges)
    first_words = {split_words(word)[0] for word in words}
    for start, end in snippet.marks:
        assert start < end
        assert first_words & set(split_words(snippet.text[start:end]))


def test_at_most_three_passages_are_shown_without_overlap():
    text = ("The comet came. " + "Nothing at all. " * 40) * 5
    passages = find_passages(text, (Term("comet"),))
    assert len(passages) == PASSAGES_MAX
    assert all(passage.text.count("comet") == len(passage.marks) == 1 for passage in passages)
    close = find_passages("comet comet comet and a comet", (Term("comet"),))
    assert len(close) == 1
    assert len(close[0].marks) == 4


def test_a_passage_has_its_pdf_page():
    text = "\f".join(["First page."] * 3 + ["The comet."] + ["More."] * 400 + ["A comet again."])
    assert [passage.page for passage in find_passages(text, (Term("comet"),))] == [4, 405]
    assert find_passages("The comet.", (Term("comet"),))[0].page is None


def test_inflected_forms_are_marked_unless_the_term_is_exact():
    (passage,) = find_passages("Networks, a network, networking; nets", (Term("network"),), "en")
    assert [passage.text[start:end] for start, end in passage.marks] == [
        "Networks",
        "network",
        "networking",
    ]
    (exact_passage,) = find_passages("Networks, a network", (Term("network", is_exact=True),), "en")
    assert [exact_passage.text[start:end] for start, end in exact_passage.marks] == ["network"]


def test_matches_in_a_title_are_marked():
    title = "Überschwemmung & Flut"
    marks = find_title_marks(title, (Term("flut"), Term("ueber")), "de")
    assert [title[start:end] for start, end in marks] == ["Flut"]
    assert find_title_marks("Flut", (), "de") == ()


@given(st.text(max_size=300), st.lists(st.sampled_from(["a", "b", "1", "é"]), max_size=3))
def test_marks_are_inside_any_text(text: str, words: list[str]):
    terms = tuple(Term(word) for word in words)
    for passage in find_passages(text, terms, "en"):
        assert all(0 <= start < end <= len(passage.text) for start, end in passage.marks)
    assert all(0 <= start < end <= len(text) for start, end in find_title_marks(text, terms, "fr"))


def test_a_passage_ends_at_a_nearby_sentence_end():
    before = "The council met on Monday and spoke of nothing at all that mattered. " * 6
    sentence = "After a week of rain the comet was seen by Dr. Weber over the hills of the town."
    after = " Nobody else has written of it in the years that came after that." * 6
    (passage,) = find_passages(f"{before}{sentence}{after}", (Term("comet"),))
    assert sentence in passage.text
    assert passage.text.startswith(("The council", "After"))
    assert passage.text.endswith(".")
    assert passage.text_with_ellipses == (passage.text, list(passage.marks))


def test_a_passage_within_a_sentence_has_ellipses():
    text = "word " * 200 + "comet " + "word " * 200
    (passage,) = find_passages(text, (Term("comet"),))
    assert (passage.begins_within, passage.ends_within) == (True, True)
    shown_text, marks = passage.text_with_ellipses
    assert shown_text == f"… {passage.text} …"
    assert [shown_text[start:end] for start, end in marks] == ["comet"]
    beginning = find_passage("word " * 200, ())
    assert (beginning.begins_within, beginning.ends_within) == (False, True)


def test_a_short_text_is_shown_completely():
    (short_passage,) = find_passages("a comet", (Term("comet"),))
    assert (short_passage.text, short_passage.begins_within, short_passage.ends_within) == (
        "a comet",
        False,
        False,
    )
    passage = find_passage("Seen from here. " * 19 + "and so on " * 9, ())
    assert passage.text.endswith("here.")
    assert not passage.ends_within


@given(
    st.lists(
        st.sampled_from(["comet", "Dr.", "town.", "Why?", "。", "\n\n", "e.g.", "\f", "x" * 90]),
        max_size=120,
    )
)
def test_any_passage_is_bounded_and_reports_its_start(pieces: list[str]):
    text = " ".join(pieces)
    for passage in find_passages(text, (Term("comet"),)):
        assert len(passage.text) <= 360
        assert bool(passage.marks) == ("comet" in pieces)
        normalized = " ".join(text.split())
        position = normalized.find(passage.text)
        assert position >= 0
        assert passage.begins_within or position == 0 or normalized[position - 2] in ".?。mt\nx"
