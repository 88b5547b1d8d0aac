"""Which words were added and removed: each text can be read out of the difference, whatever they are."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.viewer import word_diff as room
from fonds.viewer.word_diff import DiffKind, WordDiff, diff_words, trim_unchanged

TEXTS = st.text(alphabet="ab c\n图書", max_size=60)


def told(diff: WordDiff) -> list[tuple[str, str]]:
    return [(str(stretch.kind), stretch.text.strip()) for stretch in diff.stretches]


def side(diff: WordDiff, left_out: DiffKind) -> list[str]:
    return "".join(
        stretch.text for stretch in diff.stretches if stretch.kind is not left_out
    ).split()


def test_one_word_is_told_in_its_place() -> None:
    diff = diff_words("The bridge was closed on Monday.", "The bridge was closed on Tuesday.")
    assert told(diff) == [
        ("same", "The bridge was closed on"), ("removed", "Monday."), ("added", "Tuesday."),
    ]  # fmt: skip
    assert (diff.added, diff.removed, diff.is_cut, diff.is_coarse) == (1, 1, False, False)


def test_a_paragraph_that_was_added_is_one_stretch() -> None:
    diff = diff_words("One.\nThree.", "One.\nTwo of them.\nThree.")
    assert [stretch.kind for stretch in diff.stretches if stretch.kind is not DiffKind.SAME] == [
        DiffKind.ADDED
    ]
    assert diff.added == 3
    assert "\n\n" in diff.stretches[0].text


def test_characters_of_a_script_without_blanks_are_words() -> None:
    assert told(diff_words("旧桥关闭了", "旧桥开放了")) == [
        ("same", "旧桥"), ("removed", "关闭"), ("added", "开放"), ("same", "了"),
    ]  # fmt: skip


def test_the_same_text_has_no_changes() -> None:
    diff = diff_words("a b c", "a  b   c")
    assert (diff.added, diff.removed) == (0, 0)
    assert diff_words("", "").stretches == []


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_out_of_the_difference(before: str, after: str) -> None:
    diff = diff_words(before, after)
    assert "".join(side(diff, DiffKind.ADDED)) == "".join(before.split())
    assert "".join(side(diff, DiffKind.REMOVED)) == "".join(after.split())


@given(TEXTS, TEXTS, st.integers(0, 5), st.integers(0, 500))
def test_bounds_make_it_coarser_and_never_wrong(
    before: str, after: str, stretch: int, work: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(room, "STRETCH_MAX", stretch)
        patched.setattr(room, "WORK_MAX", work)
        patched.setattr(room, "ROUNDS_MAX", 1)
        diff = diff_words(before, after)
    assert "".join(side(diff, DiffKind.ADDED)) == "".join(before.split())
    assert "".join(side(diff, DiffKind.REMOVED)) == "".join(after.split())


def test_no_text_costs_more_than_is_said() -> None:
    chance = random.Random(7)
    before = " ".join(chance.choice("abcdefgh") for _ in range(30_000))
    after = " ".join(chance.choice("abcdefgh") for _ in range(30_000))
    diff = diff_words(before, after)
    assert diff.is_cut
    assert diff.is_coarse
    assert diff.removed <= room.WORDS_MAX


def test_long_stretches_that_are_the_same_are_left_out() -> None:
    words = [f"w{n}" for n in range(200)]
    diff = diff_words(" ".join(words), " ".join([*words[:100], "new", *words[100:]]))
    shown = trim_unchanged(diff)
    assert [one.kind for one in shown] == ["left-out", "same", "added", "same", "left-out"]
    assert sum(one.words for one in shown) == 201
    assert shown[1].words == shown[3].words == room.CONTEXT_WORDS
