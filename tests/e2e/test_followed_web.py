"""A small web of news, followed by two processes that are killed: `make torture-news` at its least."""

from __future__ import annotations

from pathlib import Path

from news_checks import too_fast
from torture_news import SMALL, follow


def test_a_web_is_followed_whole_politely_and_once_whoever_is_killed(tmp_path: Path) -> None:
    trial = follow(tmp_path, **SMALL)
    assert trial.problems == []
    assert trial.kills == 2
    assert trial.news.stories > 90


def test_requests_that_came_in_too_close_together_are_seen() -> None:
    assert too_fast([0.0, 1.0, 2.0, 3.0], 1.0) is None
    # The second came in late: sent before the third, a gap apart, at the latest.
    assert too_fast([0.0, 1.9, 2.0, 3.0], 1.0) is None
    assert too_fast([0.0, 0.4, 0.8, 1.2], 1.0) is not None
