"""Aligning two texts side by side: each side has its full text, and equal paragraphs share a row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fonds.viewer.story_versions import (
    AlignedPair,
    align_stretches,
)
from fonds.viewer.word_diff import DiffKind, DiffSpan, diff_words, trim_unchanged

TEXTS = st.text(alphabet="ab c\n图書", max_size=60)


def _join_words(stretches: list[DiffSpan]) -> str:
    return "".join("".join(stretch.text.split()) for stretch in stretches)


@given(TEXTS, TEXTS)
def test_each_side_is_its_text_in_order(before: str, after: str) -> None:
    pairs = align_stretches(diff_words(before, after).stretches)
    assert "".join(_join_words(pair.before) for pair in pairs) == "".join(before.split())
    assert "".join(_join_words(pair.after) for pair in pairs) == "".join(after.split())
    assert not any(pair.is_empty for pair in pairs)
    kinds = {span.kind for pair in pairs for span in pair.before}
    assert DiffKind.ADDED not in kinds


def test_an_equal_paragraph_is_in_one_row() -> None:
    pairs = align_stretches(
        diff_words("One.\nOld two.\nThree.", "One.\nNew two.\nThree.").stretches
    )
    assert [(_join_words(pair.before), _join_words(pair.after)) for pair in pairs] == [
        ("One.", "One."),
        ("Oldtwo.", "Newtwo."),
        ("Three.", "Three."),
    ]


def test_an_added_paragraph_is_on_one_side() -> None:
    pairs = align_stretches(diff_words("One.\nThree.", "One.\nTwo of them.\nThree.").stretches)
    assert _join_words([span for pair in pairs for span in pair.after]) == "One.Twoofthem.Three."
    assert (_join_words(pairs[-1].before), _join_words(pairs[-1].after)[-6:]) == (
        "Three.",
        "Three.",
    )


def test_omitted_words_have_their_own_row() -> None:
    long = " ".join(f"w{n}" for n in range(200))
    diff = diff_words(f"old {long}", f"new {long}")
    pairs = align_stretches(trim_unchanged(diff))
    assert [pair.omitted_words for pair in pairs] == [0, 185]
    assert pairs[1] == AlignedPair(omitted_words=185)
