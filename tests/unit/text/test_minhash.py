"""MinHash: estimates compared with exact values, for copies and for different stories."""

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


def choose_words(seed: int, count: int) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


def sign(words: Sequence[str]) -> bytes:
    signature = compute_signature(" ".join(words))
    assert signature is not None
    return signature


def compute_resemblance(first: Sequence[str], second: Sequence[str]) -> float:
    """Compute the Jaccard index of the sets of runs of four words, from its definition."""
    first_runs, second_runs = (
        {tuple(words[start : start + 4]) for start in range(len(words) - 3)}
        for words in (first, second)
    )
    return len(first_runs & second_runs) / len(first_runs | second_runs)


def share_a_band(first: bytes, second: bytes) -> bool:
    return bool(set(compute_bands(first)) & set(compute_bands(second)))


@given(st.integers(0, 10**6), st.integers(80, 400), st.floats(0, 1))
def test_the_estimate_is_near_the_exact_value(seed: int, count: int, shared_part: float) -> None:
    first = choose_words(seed, count)
    second = [
        *first[: int(count * shared_part)],
        *choose_words(seed + 1, count - int(count * shared_part)),
    ]
    # Four and a half standard deviations of 128 values at their widest.
    assert (
        abs(estimate_resemblance(sign(first), sign(second)) - compute_resemblance(first, second))
        < 0.2
    )


def test_the_mean_error_of_the_estimate_is_as_expected() -> None:
    errors = []
    for seed in range(300):
        first = choose_words(seed, 300)
        second = [*first[:250], *choose_words(seed + 10_000, 50)]
        errors.append(
            estimate_resemblance(sign(first), sign(second)) - compute_resemblance(first, second)
        )
    assert abs(statistics.fmean(errors)) < 0.02
    assert statistics.pstdev(errors) < 0.06


@given(st.integers(0, 10**6), st.integers(100, 600), st.integers(0, 12), st.integers(0, 12))
def test_a_copy_with_another_header_and_footer_shares_a_band(
    seed: int, count: int, header: int, footer: int
) -> None:
    wire = choose_words(seed, count)
    copy = [*choose_words(seed + 1, header), *wire, *choose_words(seed + 2, footer)]
    if compute_resemblance(wire, copy) >= 0.85:
        assert share_a_band(sign(wire), sign(copy))
        assert estimate_resemblance(sign(wire), sign(copy)) >= 0.6


@given(st.integers(0, 10**6), st.integers(100, 600))
def test_different_stories_with_the_same_words_are_not_similar(seed: int, count: int) -> None:
    """Stories about one subject repeat the same few words, but rarely the same run of four."""
    assert (
        estimate_resemblance(sign(choose_words(seed, count)), sign(choose_words(seed + 1, count)))
        < 0.3
    )


def test_only_slightly_shortened_stories_are_near_duplicates() -> None:
    wire = choose_words(1, 500)
    assert estimate_resemblance(sign(wire), sign(wire[:400])) >= 0.6
    assert estimate_resemblance(sign(wire), sign(wire[:160])) < 0.6


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The Harbour froze, over NIGHT", "the harbour froze over night"),
        ("caf\u00e9 au lait pour tous", "cafe\u0301 AU LAIT pour tous"),
        ("\uff21\uff22\uff23 d e f", "abc d e f"),
        ("it\u2019s a small world after all", "It\u2019s a small — world after all"),
    ],
)
def test_case_width_and_punctuation_are_ignored(first: str, second: str) -> None:
    assert hash_shingles(first).tolist() == hash_shingles(second).tolist()
    assert len(hash_shingles(first)) > 0


@pytest.mark.parametrize(
    "sentence",
    [
        "港口昨夜结冰，所有渡轮今天上午停航。市政府表示破冰船将在中午抵达，居民应避免前往码头区域。",
        "港は昨夜凍結し、今朝の連絡船はすべて運休となった。市によると砕氷船は正午に到着する見込みだ。",
        "ท่าเรือกลายเป็นน้ำแข็งเมื่อคืนนี้เรือข้ามฟากทั้งหมดหยุดให้บริการในเช้าวันนี้",
    ],
)
def test_scripts_without_spaces_are_compared_by_characters(sentence: str) -> None:
    varied = [sentence[offset:] + sentence[:offset] + str(offset) for offset in range(0, 40, 7)]
    original = "".join(varied)
    copy = "本社" + original + "（完）"
    signature, copy_signature = compute_signature(original), compute_signature(copy)
    assert signature
    assert copy_signature
    assert estimate_resemblance(signature, copy_signature) > 0.8
    reversed_signature = compute_signature("".join(reversed(original)))
    assert reversed_signature
    assert estimate_resemblance(signature, reversed_signature) < 0.2


def test_short_texts_have_no_signature() -> None:
    assert compute_signature("") is None
    assert compute_signature("one two three") is None
    assert compute_signature("the same four words " * 1_000) is None
    assert compute_signature(" ".join(WORDS[: SHINGLES_MIN + 2])) is None
    assert compute_signature(" ".join(WORDS[: SHINGLES_MIN + 3])) is not None


@given(st.text(max_size=500))
def test_any_text_has_a_signature(prefix: str) -> None:
    signature = compute_signature(prefix + "\ud800" + " ".join(choose_words(1, 100)))
    assert signature is not None
    assert len(signature) == 256
    assert all(-(2**31) <= band < 2**31 for band in compute_bands(signature))


def test_signatures_are_stable() -> None:
    """Other processes wrote the stored values, possibly years ago."""
    signature = sign(choose_words(7, 120))
    assert signature[:8].hex() == "f8ffa3df240ac027"
    assert compute_bands(signature)[:2] == [1743164829, -1329531948]


def test_text_beyond_the_limit_is_ignored() -> None:
    words = " ".join(choose_words(3, 400))
    long = words + " x" * (MAX_CHARS // 2)
    assert compute_signature(long) == compute_signature(
        long + " and more of it than anybody will ever read"
    )
