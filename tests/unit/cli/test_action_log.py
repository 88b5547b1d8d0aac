"""Changes by commands are recorded in the action log with their outcome."""

from __future__ import annotations

from pathlib import Path

import pytest

from empty_records import open_records
from fonds.access.action_log import ActionLog
from fonds.cli.acts import record_act
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.wiring.stores import get_utc_now


def test_an_action_is_recorded_before_it_runs_and_completed_after_it(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    action_log = ActionLog(records, get_utc_now)
    with record_act(records, "fonds embargo x"):
        assert [(action.what, action.outcome) for action in action_log.list_newest(9)] == [
            ("fonds embargo x", None)
        ]
    with pytest.raises(ValueError, match="none"), record_act(records, "refused"):
        raise ValueError("none")
    with pytest.raises(PermanentError), record_act(records, "permanent"):
        raise PermanentError(Reason.INTERNAL_ERROR, "x")
    with pytest.raises(KeyboardInterrupt), record_act(records, "broken off"):
        raise KeyboardInterrupt
    outcomes = {action.what: action.outcome for action in action_log.list_newest(9)}
    assert outcomes == {
        "fonds embargo x": 200,
        "refused": 400,
        "permanent": 400,
        "broken off": None,
    }
    assert all(action.who.startswith("local:") for action in action_log.list_newest(9))
    records.close()


def test_the_password_of_a_url_is_not_recorded(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    with record_act(records, "fonds sources add https://anne:hunter2@example.org/feed"):
        pass
    assert "hunter2" not in ActionLog(records, get_utc_now).list_newest(1)[0].what
    records.close()
