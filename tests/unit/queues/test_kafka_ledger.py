"""Kafka offsets: nothing unsettled is committed, and deliveries are counted when readers end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fonds.queues.kafka.partitions import (
    ENDS_MAX,
    UNKNOWN,
    OffsetLedger,
)

METADATA_MAX_BYTES = 4096


def read_offsets(count: int, first: int = 0) -> OffsetLedger:
    ledger = OffsetLedger.resume(first, None)
    for offset in range(first, first + count):
        ledger.read(offset)
    return ledger


def hand_out_offsets(ledger: OffsetLedger, *offsets: int) -> OffsetLedger:
    for offset in offsets:
        ledger.hand_out(offset)
    return ledger


def resume_ledger(ledger: OffsetLedger) -> OffsetLedger:
    """Return the ledger of the process after one that ended now."""
    return OffsetLedger.resume(ledger.start, ledger.metadata)


def test_only_offsets_settled_without_a_gap_are_committed() -> None:
    ledger = read_offsets(5)
    assert ledger.settle(2)
    assert ledger.start == 0
    assert ledger.settle(0)
    assert ledger.start == 1
    assert ledger.ahead_count == 1
    assert ledger.settle(1)
    assert ledger.start == 3
    assert ledger.ahead_count == 0


@given(st.permutations(range(8)), st.integers(0, 8))
def test_no_unsettled_offset_is_before_the_commit(order: list[int], count: int) -> None:
    ledger = read_offsets(8)
    settled = order[:count]
    for offset in settled:
        ledger.settle(offset)
    unsettled = [offset for offset in range(8) if offset not in settled]
    assert ledger.start == min(unsettled, default=8)
    assert ledger.ahead_count == len([offset for offset in settled if offset > ledger.start])


def test_settling_twice_or_an_unread_offset_changes_nothing() -> None:
    ledger = read_offsets(2)
    assert ledger.settle(0)
    assert not ledger.settle(0)
    assert not ledger.settle(7)
    assert ledger.start == 1


def test_offsets_of_a_compacted_topic_can_have_gaps() -> None:
    ledger = OffsetLedger.resume(3, None)
    for offset in (5, 9):
        ledger.read(offset)
    assert ledger.settle(5)
    assert ledger.start == 6
    assert ledger.settle(9)
    assert ledger.start == 10


def test_offsets_never_handed_out_are_not_counted() -> None:
    after = resume_ledger(hand_out_offsets(read_offsets(6), 0, 1, 2))
    assert [after.count_returns(offset) for offset in range(6)] == [1, 1, 1, 0, 0, 0]


def test_a_clean_end_counts_no_deliveries() -> None:
    ledger = hand_out_offsets(read_offsets(3), 0, 1, 2)
    for offset in range(3):
        ledger.settle(offset)
    after = resume_ledger(ledger)
    assert [after.count_returns(offset) for offset in range(5)] == [0] * 5


def test_only_offsets_unsettled_at_an_end_are_counted() -> None:
    """A partition that always has messages in flight must not count the ends of months."""
    first = hand_out_offsets(read_offsets(4), 0, 1, 2, 3)
    second = resume_ledger(first)
    for offset in range(8):
        second.read(offset)
    hand_out_offsets(second, *range(8))
    for offset in (0, 1, 2):
        second.settle(offset)
    third = resume_ledger(second)
    assert [third.count_returns(offset) for offset in range(3, 9)] == [2, 1, 1, 1, 1, 0]


def test_a_message_that_kills_every_process_is_counted_each_time() -> None:
    ledger = OffsetLedger.resume(UNKNOWN, None)
    for times in range(ENDS_MAX + 5):
        ledger.read(7)
        assert ledger.count_returns(7) == min(times, ENDS_MAX)
        ledger.hand_out(7)
        ledger = resume_ledger(ledger)
    assert len(ledger.metadata) < 4000


def test_without_a_commit_the_first_read_offset_is_the_start() -> None:
    ledger = OffsetLedger.resume(-1001, None)
    assert ledger.start == UNKNOWN
    ledger.read(40)
    assert ledger.start == 40


def test_an_offset_set_back_is_processed_from_there() -> None:
    ledger = read_offsets(3, first=10)
    ledger.read(4)
    ledger.settle(10)
    assert ledger.start == 4
    ledger.settle(4)
    assert ledger.start == 11


@given(st.text(max_size=40), st.integers(-2000, 50))
def test_foreign_metadata_is_ignored(metadata: str, committed: int) -> None:
    ledger = OffsetLedger.resume(committed, metadata)
    assert ledger.start == max(committed, UNKNOWN)
    assert ledger.count_returns(0) <= ENDS_MAX


@given(st.integers(0, 100), st.lists(st.integers(0, 200), max_size=20))
def test_metadata_is_encoded_and_decoded_unchanged(start: int, ends: list[int]) -> None:
    ledger = OffsetLedger(start, max(ends, default=0), [end for end in ends if end > start])
    after = OffsetLedger.resume(start, ledger.metadata)
    expected = ledger.ends + [ledger.handed_out_to] * (ledger.handed_out_to > start)
    assert after.ends == expected


@given(
    st.integers(0, 50),
    st.lists(st.sets(st.integers(0, 59), max_size=30), min_size=1, max_size=4),
    st.sets(st.integers(0, 59)),
)
def test_after_kills_exactly_the_unsettled_offsets_are_handed_out(
    first: int, rounds: list[set[int]], missing: set[int]
) -> None:
    """Offsets in `missing` were compacted away; each round settles some offsets and is killed."""
    offsets = [first + n for n in range(60) if n not in missing]
    settled: set[int] = set()
    ledger = OffsetLedger.resume(first, None)
    for settled_numbers in rounds:
        handed_out = [
            offset for offset in offsets if offset >= ledger.start and ledger.read(offset)
        ]
        assert handed_out == [offset for offset in offsets if offset not in settled]
        for offset in handed_out:
            if offset - first in settled_numbers:
                ledger.settle(offset)
                settled.add(offset)
        ledger = resume_ledger(ledger)
    assert ledger.start <= min(set(offsets) - settled, default=first + 60)


def test_offsets_settled_ahead_are_skipped_when_read_again() -> None:
    ledger = read_offsets(10)
    for offset in (2, 3, 7):
        ledger.settle(offset)
    after = resume_ledger(ledger)
    assert after.ahead_count == 3
    assert [offset for offset in range(4) if after.read(offset)] == [0, 1]
    # It is killed before it has read everything that its predecessor had read.
    third = resume_ledger(after)
    assert [offset for offset in range(10) if third.read(offset)] == [0, 1, 4, 5, 6, 8, 9]


def test_offsets_over_the_metadata_limit_are_repeated_but_none_is_lost() -> None:
    ledger = read_offsets(40_000)
    for offset in range(1, 40_000, 2):
        ledger.settle(offset)
    assert len(ledger.metadata.encode()) < METADATA_MAX_BYTES
    after = resume_ledger(ledger)
    repeated = {offset for offset in range(40_000) if after.read(offset)}
    assert set(range(0, 40_000, 2)) < repeated
    assert not set(range(1, 1000, 2)) & repeated


def test_uncommitted_offsets_are_counted() -> None:
    ledger = read_offsets(5)
    ledger.settle(0)
    ledger.settle(1)
    assert ledger.uncommitted_count == 2
    ledger.last_committed = ledger.start
    assert ledger.uncommitted_count == 0
