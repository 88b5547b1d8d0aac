"""The word difference of two texts: it contains both texts, whatever they are."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.viewer import word_diff
from fonds.viewer.word_diff import DiffKind, WordDiff, diff_words, trim_unchanged

TEXTS = st.text(alphabet="ab c\n图書", max_size=60)


def list_spans(diff: WordDiff) -> list[tuple[str, str]]:
    return [(str(stretch.kind), stretch.text.strip()) for stretch in diff.stretches]


def list_side_words(diff: WordDiff, excluded_kind: DiffKind) -> list[str]:
    return "".join(
        stretch.text for stretch in diff.stretches if stretch.kind is not excluded_kind
    ).split()


def test_a_changed_word_is_shown_in_its_place() -> None:
    diff = diff_words("The bridge was closed on Monday.", "The bridge was closed on Tuesday.")
    assert list_spans(diff) == [
        ("same", "The bridge was closed on"), ("removed", "Monday."), ("added", "Tuesday."),
    ]  # fmt: skip
    assert (diff.added, diff.removed, diff.is_cut, diff.is_coarse) == (1, 1, False, False)


def test_an_added_paragraph_is_one_span() -> None:
    diff = diff_words("One.\nThree.", "One.\nTwo of them.\nThree.")
    assert [stretch.kind for stretch in diff.stretches if stretch.kind is not DiffKind.SAME] == [
        DiffKind.ADDED
    ]
    assert diff.added == 3
    assert "\n\n" in diff.stretches[0].text


def test_characters_of_a_script_without_spaces_are_words() -> None:
    assert list_spans(diff_words("旧桥关闭了", "旧桥开放了")) == [
        ("same", "旧桥"), ("removed", "关闭"), ("added", "开放"), ("same", "了"),
    ]  # fmt: skip


def test_the_same_text_has_no_changes() -> None:
    diff = diff_words("a b c", "a  b   c")
    assert (diff.added, diff.removed) == (0, 0)
    assert diff_words("", "").stretches == []


@given(TEXTS, TEXTS)
def test_the_difference_contains_both_texts(before: str, after: str) -> None:
    diff = diff_words(before, after)
    assert "".join(list_side_words(diff, DiffKind.ADDED)) == "".join(before.split())
    assert "".join(list_side_words(diff, DiffKind.REMOVED)) == "".join(after.split())


@given(TEXTS, TEXTS, st.integers(0, 5), st.integers(0, 500))
def test_limits_make_the_difference_coarser_but_not_wrong(
    before: str, after: str, stretch: int, work: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(word_diff, "STRETCH_MAX", stretch)
        patched.setattr(word_diff, "WORK_MAX", work)
        patched.setattr(word_diff, "ROUNDS_MAX", 1)
        diff = diff_words(before, after)
    assert "".join(list_side_words(diff, DiffKind.ADDED)) == "".join(before.split())
    assert "".join(list_side_words(diff, DiffKind.REMOVED)) == "".join(after.split())


def test_long_texts_are_cut_and_compared_coarsely() -> None:
    chance = random.Random(7)
    before = " ".join(chance.choice("abcdefgh") for _ in range(30_000))
    after = " ".join(chance.choice("abcdefgh") for _ in range(30_000))
    diff = diff_words(before, after)
    assert diff.is_cut
    assert diff.is_coarse
    assert diff.removed <= word_diff.WORDS_MAX


def test_long_unchanged_spans_are_omitted() -> None:
    words = [f"w{n}" for n in range(200)]
    diff = diff_words(" ".join(words), " ".join([*words[:100], "new", *words[100:]]))
    spans = trim_unchanged(diff)
    assert [span.kind for span in spans] == ["left-out", "same", "added", "same", "left-out"]
    assert sum(span.words for span in spans) == 201
    assert spans[1].words == spans[3].words == word_diff.CONTEXT_WORDS
