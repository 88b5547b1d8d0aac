"""Which passage is shown, and what is marked in it."""

import time

from hypothesis import given
from hypothesis import strategies as st

from fonds.search.index.passages import (
    PASSAGES_MAX,
    find_passage,
    find_passages,
    find_title_marks,
)
from fonds.search.query.tree import Term
from fonds.text.words import SCANNED_MAX_CHARS, split_words


def marked(text: str, *terms: Term) -> list[str]:
    snippet = find_passage(text, terms)
    return [snippet.text[start:end] for start, end in snippet.marks]


def test_words_are_marked_whole_and_not_inside_others():
    assert marked("A river, two rivers, riverside RIVER.", Term("river")) == ["river", "RIVER"]


def test_a_phrase_is_marked_as_one_and_its_words_alone_are_not():
    assert marked("New town, new river; a New   River!", Term("new river")) == [
        "new river",
        "New River",
    ]


def test_a_beginning_marks_the_whole_word():
    assert marked("Rivers and riverbanks", Term("river", is_prefix=True)) == [
        "Rivers",
        "riverbanks",
    ]


def test_the_longest_of_overlapping_terms_is_marked():
    assert marked("the new river", Term("river"), Term("new river")) == ["new river"]


def test_a_phrase_in_a_spaceless_script_is_marked_as_one():
    assert marked("今日の東京タワー", Term("東京")) == ["東京"]


def test_accents_in_either_form_are_marked_with_their_letters():
    assert marked("Une e\u0301cole, l'École", Term("école")) == ["école", "École"]


def test_one_character_that_stands_for_several_words_is_marked_once():
    assert marked("これは㍿です", Term("株"), Term("会")) == ["㍿"]


def test_the_densest_place_is_chosen():
    text = "One comet. " + "Nothing at all. " * 50 + "The comet left a long tail over the hills."
    assert marked(text, Term("comet"), Term("tail"), Term("hills")) == ["comet", "tail", "hills"]


def test_blanks_and_control_characters_become_one_space():
    snippet = find_passage("the\n\n\x0c\x00 river \t rose\x1b", (Term("river"),))
    assert snippet.text == "the river rose"
    assert snippet.marks == ((4, 9),)


def test_the_passage_begins_and_ends_between_words():
    text = " ".join(f"number{n}" for n in range(400)).replace("number200", "comet")
    snippet = find_passage(text, (Term("comet"),))
    assert set(snippet.text.split()) <= set(text.split())
    assert len(snippet.text) <= 360


def test_a_match_across_two_windows_of_a_long_text_is_still_near_its_words():
    text = "filler " * 10_000 + "the comet"
    assert marked(text, Term("comet")) == ["comet"]


def test_the_beginning_is_shown_when_nothing_matches():
    assert (
        find_passage("\n\n  The beginning of it.", (Term("absent"),)).text == "The beginning of it."
    )
    assert find_passage("The beginning of it.", ()).text == "The beginning of it."
    assert find_passage("", (Term("a"),)).text == ""


def test_a_long_word_does_not_make_a_long_passage():
    assert len(find_passage("x" * 100_000, ()).text) <= 360
    assert len(find_passage("x" * 100_000 + " comet", (Term("comet"),)).text) <= 360


def test_only_the_beginning_of_a_huge_text_is_looked_through():
    text = "é " * (SCANNED_MAX_CHARS // 2) + "comet"
    began = time.process_time()
    assert marked(text, Term("comet")) == []
    assert time.process_time() - began < 5


@given(
    st.text(alphabet="ab é\u0301東京ß\u00ad\n\x00.㍿", max_size=300),
    st.lists(st.text(alphabet="abé東京ß", min_size=1, max_size=3), max_size=3),
)
def test_marks_lie_in_order_inside_the_snippet_on_wanted_words(text: str, wanted: list[str]):
    terms = [Term(part) for part in wanted]
    snippet = find_passage(text, terms)
    edges = [edge for mark in snippet.marks for edge in mark]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(snippet.text) for edge in edges)
    firsts = {split_words(part)[0] for part in wanted}
    for start, end in snippet.marks:
        assert start < end
        assert firsts & set(split_words(snippet.text[start:end]))


def test_up_to_three_passages_are_shown_that_do_not_overlap():
    text = ("The comet came. " + "Nothing at all. " * 40) * 5
    passages = find_passages(text, (Term("comet"),))
    assert len(passages) == PASSAGES_MAX
    assert all(one.text.count("comet") == len(one.marks) == 1 for one in passages)
    close = find_passages("comet comet comet and a comet", (Term("comet"),))
    assert len(close) == 1
    assert len(close[0].marks) == 4


def test_a_passage_says_which_page_of_a_pdf_it_is_on():
    text = "\f".join(["First page."] * 3 + ["The comet."] + ["More."] * 400 + ["A comet again."])
    assert [passage.page for passage in find_passages(text, (Term("comet"),))] == [4, 405]
    assert find_passages("The comet.", (Term("comet"),))[0].page is None


def test_words_are_marked_in_the_forms_they_have():
    (found,) = find_passages("Networks, a network, networking; nets", (Term("network"),), "en")
    assert [found.text[a:b] for a, b in found.marks] == ["Networks", "network", "networking"]
    (exact,) = find_passages("Networks, a network", (Term("network", is_exact=True),), "en")
    assert [exact.text[a:b] for a, b in exact.marks] == ["network"]


def test_a_title_is_marked_where_it_lies():
    title = "Überschwemmung & Flut"
    marks = find_title_marks(title, (Term("flut"), Term("ueber")), "de")
    assert [title[a:b] for a, b in marks] == ["Flut"]
    assert find_title_marks("Flut", (), "de") == ()


@given(st.text(max_size=300), st.lists(st.sampled_from(["a", "b", "1", "é"]), max_size=3))
def test_marks_lie_within_any_text(text: str, found: list[str]):
    terms = tuple(Term(one) for one in found)
    for one in find_passages(text, terms, "en"):
        assert all(0 <= start < end <= len(one.text) for start, end in one.marks)
    assert all(0 <= start < end <= len(text) for start, end in find_title_marks(text, terms, "fr"))


def test_a_passage_is_of_whole_sentences_where_they_end_near_by():
    before = "The council met on Monday and spoke of nothing at all that mattered. " * 6
    wanted = "After a week of rain the comet was seen by Dr. Weber over the hills of the town."
    behind = " Nobody else has written of it in the years that came after that." * 6
    (found,) = find_passages(f"{before}{wanted}{behind}", (Term("comet"),))
    assert wanted in found.text
    assert found.text.startswith(("The council", "After"))
    assert found.text.endswith(".")
    assert found.text_with_ellipses == (found.text, list(found.marks))


def test_where_no_sentence_ends_near_by_dots_say_so():
    text = "word " * 200 + "comet " + "word " * 200
    (found,) = find_passages(text, (Term("comet"),))
    assert (found.begins_within, found.ends_within) == (True, True)
    told, marks = found.text_with_ellipses
    assert told == f"… {found.text} …"
    assert [told[a:b] for a, b in marks] == ["comet"]
    alone = find_passage("word " * 200, ())
    assert (alone.begins_within, alone.ends_within) == (False, True)


def test_a_text_that_is_shorter_is_shown_whole():
    (found,) = find_passages("a comet", (Term("comet"),))
    assert (found.text, found.begins_within, found.ends_within) == ("a comet", False, False)
    passage = find_passage("Seen from here. " * 19 + "and so on " * 9, ())
    assert passage.text.endswith("here.")
    assert not passage.ends_within


@given(
    st.lists(
        st.sampled_from(["comet", "Dr.", "town.", "Why?", "。", "\n\n", "e.g.", "\f", "x" * 90]),
        max_size=120,
    )
)
def test_a_passage_is_bounded_holds_its_match_and_says_how_it_ends(pieces: list[str]):
    text = " ".join(pieces)
    for passage in find_passages(text, (Term("comet"),)):
        assert len(passage.text) <= 360
        assert bool(passage.marks) == ("comet" in pieces)
        tidy = " ".join(text.split())
        at = tidy.find(passage.text)
        assert at >= 0
        assert passage.begins_within or at == 0 or tidy[at - 2] in ".?。mt\nx"
