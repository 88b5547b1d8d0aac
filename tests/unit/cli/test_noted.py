"""What is changed by commands stands among the acts, with how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from empty_records import open_records
from fonds.access.action_log import ActionLog
from fonds.cli.acts import record_act
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.wiring.stores import get_utc_now


def test_an_act_is_noted_before_and_its_end_behind_it(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    acts = ActionLog(records, get_utc_now)
    with record_act(records, "fonds embargo x"):
        assert [(one.what, one.outcome) for one in acts.list_newest(9)] == [
            ("fonds embargo x", None)
        ]
    with pytest.raises(ValueError, match="none"), record_act(records, "refused"):
        raise ValueError("none")
    with pytest.raises(PermanentError), record_act(records, "permanent"):
        raise PermanentError(Reason.INTERNAL_ERROR, "x")
    with pytest.raises(KeyboardInterrupt), record_act(records, "broken off"):
        raise KeyboardInterrupt
    ended = {one.what: one.outcome for one in acts.list_newest(9)}
    assert ended == {"fonds embargo x": 200, "refused": 400, "permanent": 400, "broken off": None}
    assert all(one.who.startswith("local:") for one in acts.list_newest(9))
    records.close()


def test_no_password_of_an_address_is_noted(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    with record_act(records, "fonds sources add https://anne:hunter2@example.org/feed"):
        pass
    assert "hunter2" not in ActionLog(records, get_utc_now).list_newest(1)[0].what
    records.close()
