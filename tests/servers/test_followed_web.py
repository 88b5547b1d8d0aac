"""A small news web, followed by two processes over a broker; some are killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from depth import partly_nightly
from real_servers import url_of
from torture_news import BROKERS, SMALL, follow

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("broker", partly_nightly(BROKERS, lambda b: b == "rabbitmq"))
def test_killed_followers_fetch_each_story_once_over_a_broker(broker: str, tmp_path: Path) -> None:
    environment = {
        "FONDS_QUEUE": url_of(f"TEST_{broker.upper()}_URL") + BROKERS[broker],
        "FONDS_ENV": f"t{os.urandom(4).hex()}",
    }
    trial = follow(tmp_path, **SMALL, environment=environment)
    assert trial.problems == []
    assert trial.kills == 2
