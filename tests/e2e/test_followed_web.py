"""A small news web, followed by two processes that are killed: the smallest `make torture-news`."""

from __future__ import annotations

from pathlib import Path

from news_checks import too_fast
from torture_news import SMALL, follow


def test_killed_followers_fetch_each_story_once_with_delays(tmp_path: Path) -> None:
    trial = follow(tmp_path, **SMALL)
    assert trial.problems == []
    assert trial.kills == 2
    assert trial.news.story_count > 90


def test_requests_with_too_short_delays_are_detected() -> None:
    assert too_fast([0.0, 1.0, 2.0, 3.0], 1.0) is None
    # The second request arrived late; it can have been sent a full gap before the third.
    assert too_fast([0.0, 1.9, 2.0, 3.0], 1.0) is None
    assert too_fast([0.0, 0.4, 0.8, 1.2], 1.0) is not None
