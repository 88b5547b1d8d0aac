"""Whether nothing unsettled is ever committed, and what is counted when readers end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fonds.queues.kafka.partitions import (
    ENDS_MAX,
    UNKNOWN,
    OffsetLedger,
)

METADATA_MAX_BYTES = 4096


def reading(count: int, first: int = 0) -> OffsetLedger:
    ledger = OffsetLedger.resume(first, None)
    for offset in range(first, first + count):
        ledger.read(offset)
    return ledger


def handed(ledger: OffsetLedger, *offsets: int) -> OffsetLedger:
    for offset in offsets:
        ledger.hand_out(offset)
    return ledger


def resumed(ledger: OffsetLedger) -> OffsetLedger:
    """As whoever comes after a process that ended here."""
    return OffsetLedger.resume(ledger.start, ledger.metadata)


def test_only_what_is_settled_without_a_gap_is_committed() -> None:
    ledger = reading(5)
    assert ledger.settle(2)
    assert ledger.start == 0
    assert ledger.settle(0)
    assert ledger.start == 1
    assert ledger.ahead_count == 1
    assert ledger.settle(1)
    assert ledger.start == 3
    assert ledger.ahead_count == 0


@given(st.permutations(range(8)), st.integers(0, 8))
def test_nothing_unsettled_is_ever_behind_the_commit(order: list[int], count: int) -> None:
    ledger = reading(8)
    settled = order[:count]
    for offset in settled:
        ledger.settle(offset)
    left = [offset for offset in range(8) if offset not in settled]
    assert ledger.start == min(left, default=8)
    assert ledger.ahead_count == len([offset for offset in settled if offset > ledger.start])


def test_settling_twice_or_what_was_never_read_changes_nothing() -> None:
    ledger = reading(2)
    assert ledger.settle(0)
    assert not ledger.settle(0)
    assert not ledger.settle(7)
    assert ledger.start == 1


def test_offsets_may_have_gaps_where_a_topic_was_compacted() -> None:
    ledger = OffsetLedger.resume(3, None)
    for offset in (5, 9):
        ledger.read(offset)
    assert ledger.settle(5)
    assert ledger.start == 6
    assert ledger.settle(9)
    assert ledger.start == 10


def test_what_was_never_in_a_hand_is_not_counted() -> None:
    after = resumed(handed(reading(6), 0, 1, 2))
    assert [after.count_returns(offset) for offset in range(6)] == [1, 1, 1, 0, 0, 0]


def test_a_clean_end_counts_nothing() -> None:
    ledger = handed(reading(3), 0, 1, 2)
    for offset in range(3):
        ledger.settle(offset)
    after = resumed(ledger)
    assert [after.count_returns(offset) for offset in range(5)] == [0] * 5


def test_only_what_stayed_unsettled_at_every_end_is_counted_every_time() -> None:
    """A partition that always has something in hand must not collect the ends of months."""
    first = handed(reading(4), 0, 1, 2, 3)
    second = resumed(first)
    for offset in range(8):
        second.read(offset)
    handed(second, *range(8))
    for offset in (0, 1, 2):
        second.settle(offset)
    third = resumed(second)
    assert [third.count_returns(offset) for offset in range(3, 9)] == [2, 1, 1, 1, 1, 0]


def test_a_message_that_ends_every_process_is_counted_up() -> None:
    ledger = OffsetLedger.resume(UNKNOWN, None)
    for times in range(ENDS_MAX + 5):
        ledger.read(7)
        assert ledger.count_returns(7) == min(times, ENDS_MAX)
        ledger.hand_out(7)
        ledger = resumed(ledger)
    assert len(ledger.metadata) < 4000


def test_without_a_commit_it_starts_at_what_is_read_first() -> None:
    ledger = OffsetLedger.resume(-1001, None)
    assert ledger.start == UNKNOWN
    ledger.read(40)
    assert ledger.start == 40


def test_a_place_that_was_set_back_is_worked_off_from_there() -> None:
    ledger = reading(3, first=10)
    ledger.read(4)
    ledger.settle(10)
    assert ledger.start == 4
    ledger.settle(4)
    assert ledger.start == 11


@given(st.text(max_size=40), st.integers(-2000, 50))
def test_metadata_of_others_is_no_error(metadata: str, committed: int) -> None:
    ledger = OffsetLedger.resume(committed, metadata)
    assert ledger.start == max(committed, UNKNOWN)
    assert ledger.count_returns(0) <= ENDS_MAX


@given(st.integers(0, 100), st.lists(st.integers(0, 200), max_size=20))
def test_metadata_travels(start: int, ends: list[int]) -> None:
    ledger = OffsetLedger(start, max(ends, default=0), [end for end in ends if end > start])
    after = OffsetLedger.resume(start, ledger.metadata)
    expected = ledger.ends + [ledger.handed_out_to] * (ledger.handed_out_to > start)
    assert after.ends == expected


@given(
    st.integers(0, 50),
    st.lists(st.sets(st.integers(0, 59), max_size=30), min_size=1, max_size=4),
    st.sets(st.integers(0, 59)),
)
def test_whoever_comes_after_a_killed_reader_hands_out_what_was_not_settled_and_nothing_else(
    first: int, rounds: list[set[int]], gone: set[int]
) -> None:
    """`gone` were compacted away; each round settles some and is killed."""
    there = [first + n for n in range(60) if n not in gone]
    settled: set[int] = set()
    ledger = OffsetLedger.resume(first, None)
    for chosen in rounds:
        handed_out = [offset for offset in there if offset >= ledger.start and ledger.read(offset)]
        assert handed_out == [offset for offset in there if offset not in settled]
        for offset in handed_out:
            if offset - first in chosen:
                ledger.settle(offset)
                settled.add(offset)
        ledger = resumed(ledger)
    assert ledger.start <= min(set(there) - settled, default=first + 60)


def test_what_was_settled_ahead_is_known_before_it_is_read_again() -> None:
    ledger = reading(10)
    for offset in (2, 3, 7):
        ledger.settle(offset)
    after = resumed(ledger)
    assert after.ahead_count == 3
    assert [offset for offset in range(4) if after.read(offset)] == [0, 1]
    # It is killed before it has read all that its predecessor had.
    again = resumed(after)
    assert [offset for offset in range(10) if again.read(offset)] == [0, 1, 4, 5, 6, 8, 9]


def test_more_than_the_metadata_holds_comes_again_and_nothing_is_lost() -> None:
    ledger = reading(40_000)
    for offset in range(1, 40_000, 2):
        ledger.settle(offset)
    assert len(ledger.metadata.encode()) < METADATA_MAX_BYTES
    after = resumed(ledger)
    again = {offset for offset in range(40_000) if after.read(offset)}
    assert set(range(0, 40_000, 2)) < again
    assert not set(range(1, 1000, 2)) & again


def test_what_was_not_committed_yet_is_known() -> None:
    ledger = reading(5)
    ledger.settle(0)
    ledger.settle(1)
    assert ledger.uncommitted_count == 2
    ledger.last_committed = ledger.start
    assert ledger.uncommitted_count == 0
