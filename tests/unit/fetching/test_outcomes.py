"""The disposition of a link by HTTP status and Retry-After."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.fetching.outcomes import (
    RETRY_AFTER_MAX_S,
    RETRY_S,
    classify_status,
    compute_retry_delay,
    retry_after_s,
)
from fonds.model.disposition import Reason, Verdict

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "verdict", "reason"),
    [
        (200, Verdict.DONE, None),
        (304, Verdict.DROPPED, Reason.NOT_MODIFIED),
        (204, Verdict.DROPPED, Reason.HTTP_STATUS),
        (404, Verdict.DROPPED, Reason.HTTP_STATUS),
        (403, Verdict.DROPPED, Reason.HTTP_STATUS),
        (451, Verdict.DROPPED, Reason.HTTP_STATUS),
        (999, Verdict.DROPPED, Reason.HTTP_STATUS),
        (501, Verdict.DROPPED, Reason.HTTP_STATUS),
        (408, Verdict.RETRIED, Reason.HTTP_STATUS),
        (500, Verdict.RETRIED, Reason.HTTP_STATUS),
        (522, Verdict.RETRIED, Reason.HTTP_STATUS),
        (429, Verdict.RETRIED, Reason.THROTTLED),
        (503, Verdict.RETRIED, Reason.THROTTLED),
    ],
)
def test_a_status_has_its_verdict_and_reason(
    status: int, verdict: Verdict, reason: Reason | None
) -> None:
    disposition = classify_status("link", status)
    assert (disposition.verdict, disposition.reason) == (verdict, reason)


def test_retry_after_raises_the_delay_but_never_lowers_it() -> None:
    assert classify_status("link", 429, 7200.0).after_s == 7200.0
    assert classify_status("link", 429, 1.0).after_s >= 0.75 * RETRY_S


def test_links_that_failed_together_are_retried_at_different_times() -> None:
    times = [compute_retry_delay(f"link{number}") for number in range(1000)]
    assert len(set(times)) == 1000
    assert min(times) >= 0.75 * RETRY_S
    assert max(times) <= 1.25 * RETRY_S
    assert max(times) - min(times) > 0.4 * RETRY_S


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0.0),
        ("", 0.0),
        ("120", 120.0),
        (" 120 ", 120.0),
        ("999999999", RETRY_AFTER_MAX_S),
        ("-5", 0.0),
        ("1.5", 0.0),
        ("Sun, 22 Nov 2026 12:01:00 GMT", 60.0),
        ("Sun, 22 Nov 2026 11:00:00 GMT", 0.0),
        ("Sunday, 22-Nov-26 12:02:00 GMT", 120.0),
        ("Fri, 22 Nov 2999 12:00:00 GMT", RETRY_AFTER_MAX_S),
        ("soon", 0.0),
        ("٣", 0.0),
    ],
)
def test_retry_after_accepts_seconds_or_a_date(value: str | None, seconds: float) -> None:
    assert retry_after_s(value, NOW) == seconds


@given(st.text())
def test_any_retry_after_is_a_bounded_delay(value: str) -> None:
    assert 0.0 <= retry_after_s(value, NOW) <= RETRY_AFTER_MAX_S
