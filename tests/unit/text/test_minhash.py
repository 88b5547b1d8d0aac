"""MinHash: the estimate beside the truth; copies found, different stories left apart."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.text.minhash import MAX_CHARS, SHINGLES_MIN, compute_signature, hash_shingles
from fonds.text.similarity import compute_bands, estimate_resemblance

WORDS = [f"{first}{second}" for first in "bcdfghklmnprst" for second in ("ald", "emo", "irk", "un")]


def text(seed: int, count: int) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


def signed(words: Sequence[str]) -> bytes:
    signature = compute_signature(" ".join(words))
    assert signature is not None
    return signature


def truth(one: Sequence[str], other: Sequence[str]) -> float:
    """The Jaccard index of the sets of runs of four words, straight from its definition."""
    left, right = (
        {tuple(words[at : at + 4]) for at in range(len(words) - 3)} for words in (one, other)
    )
    return len(left & right) / len(left | right)


def share_a_band(one: bytes, other: bytes) -> bool:
    return bool(set(compute_bands(one)) & set(compute_bands(other)))


@given(st.integers(0, 10**6), st.integers(80, 400), st.floats(0, 1))
def test_the_estimate_is_near_the_truth(seed: int, count: int, kept: float) -> None:
    one = text(seed, count)
    other = [*one[: int(count * kept)], *text(seed + 1, count - int(count * kept))]
    # Four and a half standard deviations of 128 values at their widest.
    assert abs(estimate_resemblance(signed(one), signed(other)) - truth(one, other)) < 0.2


def test_on_the_whole_the_estimate_is_off_by_no_more_than_theory_says() -> None:
    errors = []
    for seed in range(300):
        one = text(seed, 300)
        other = [*one[:250], *text(seed + 10_000, 50)]
        errors.append(estimate_resemblance(signed(one), signed(other)) - truth(one, other))
    assert abs(statistics.fmean(errors)) < 0.02
    assert statistics.pstdev(errors) < 0.06


@given(st.integers(0, 10**6), st.integers(100, 600), st.integers(0, 12), st.integers(0, 12))
def test_a_copy_with_another_header_and_byline_is_found(
    seed: int, count: int, header: int, footer: int
) -> None:
    wire = text(seed, count)
    copy = [*text(seed + 1, header), *wire, *text(seed + 2, footer)]
    if truth(wire, copy) >= 0.85:
        assert share_a_band(signed(wire), signed(copy))
        assert estimate_resemblance(signed(wire), signed(copy)) >= 0.6


@given(st.integers(0, 10**6), st.integers(100, 600))
def test_different_stories_with_the_same_words_are_not(seed: int, count: int) -> None:
    """The same few words over and over, as on one subject: runs of four are seldom the same."""
    assert estimate_resemblance(signed(text(seed, count)), signed(text(seed + 1, count))) < 0.3


def test_a_story_shortened_by_a_fifth_is_found_and_one_by_two_thirds_is_not() -> None:
    wire = text(1, 500)
    assert estimate_resemblance(signed(wire), signed(wire[:400])) >= 0.6
    assert estimate_resemblance(signed(wire), signed(wire[:160])) < 0.6


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Harbour froze, over NIGHT", "the harbour froze over night"),
        ("caf\u00e9 au lait pour tous", "cafe\u0301 AU LAIT pour tous"),
        ("\uff21\uff22\uff23 d e f", "abc d e f"),
        ("it\u2019s a small world after all", "It\u2019s a small — world after all"),
    ],
)
def test_case_width_and_marks_do_not_count(one: str, other: str) -> None:
    assert hash_shingles(one).tolist() == hash_shingles(other).tolist()
    assert len(hash_shingles(one)) > 0


@pytest.mark.parametrize(
    "sentence",
    [
        "港口昨夜结冰，所有渡轮今天上午停航。市政府表示破冰船将在中午抵达，居民应避免前往码头区域。",
        "港は昨夜凍結し、今朝の連絡船はすべて運休となった。市によると砕氷船は正午に到着する見込みだ。",
        "ท่าเรือกลายเป็นน้ำแข็งเมื่อคืนนี้เรือข้ามฟากทั้งหมดหยุดให้บริการในเช้าวันนี้",
    ],
)
def test_scripts_without_blanks_are_told_apart_by_their_characters(sentence: str) -> None:
    varied = [sentence[at:] + sentence[:at] + str(at) for at in range(0, 40, 7)]
    whole = "".join(varied)
    copy = "本社" + whole + "（完）"
    one, other = compute_signature(whole), compute_signature(copy)
    assert one
    assert other
    assert estimate_resemblance(one, other) > 0.8
    elsewhere = compute_signature("".join(reversed(whole)))
    assert elsewhere
    assert estimate_resemblance(one, elsewhere) < 0.2


def test_of_too_little_text_nothing_is_told() -> None:
    assert compute_signature("") is None
    assert compute_signature("one two three") is None
    assert compute_signature("the same four words " * 1_000) is None
    assert compute_signature(" ".join(WORDS[: SHINGLES_MIN + 2])) is None
    assert compute_signature(" ".join(WORDS[: SHINGLES_MIN + 3])) is not None


@given(st.text(max_size=500))
def test_any_text_is_taken(some: str) -> None:
    signature = compute_signature(some + "\ud800" + " ".join(text(1, 100)))
    assert signature is not None
    assert len(signature) == 256
    assert all(-(2**63) <= band < 2**63 for band in compute_bands(signature))


def test_it_says_the_same_on_every_machine() -> None:
    """What is in the rows was written by other processes, and perhaps years ago."""
    found = signed(text(7, 120))
    assert found[:8].hex() == "f8ffa3df240ac027"
    assert compute_bands(found)[:2] == [6926319910463640989, 5560399438293300180]


def test_what_is_beyond_the_limit_does_not_count() -> None:
    words = " ".join(text(3, 400))
    long = words + " x" * (MAX_CHARS // 2)
    assert compute_signature(long) == compute_signature(
        long + " and more of it than anybody will ever read"
    )
