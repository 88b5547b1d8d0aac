"""What is changed by commands stands among the acts, with how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from fonds.access.acts import Acts
from fonds.cli.working.noted import noted
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.stores.records.sql import open_sqlite
from fonds.wiring.backends import now


def test_an_act_is_noted_before_and_its_end_behind_it(tmp_path: Path) -> None:
    records = open_sqlite(tmp_path / "records.sqlite")
    acts = Acts(records, now)
    with noted(records, "fonds embargo x"):
        assert [(one.what, one.outcome) for one in acts.newest(9)] == [("fonds embargo x", None)]
    with pytest.raises(ValueError, match="none"), noted(records, "refused"):
        raise ValueError("none")
    with pytest.raises(PermanentError), noted(records, "permanent"):
        raise PermanentError(Reason.INTERNAL_ERROR, "x")
    with pytest.raises(KeyboardInterrupt), noted(records, "broken off"):
        raise KeyboardInterrupt
    ended = {one.what: one.outcome for one in acts.newest(9)}
    assert ended == {"fonds embargo x": 200, "refused": 400, "permanent": 400, "broken off": None}
    assert all(one.who.startswith("local:") for one in acts.newest(9))
    records.close()


def test_no_password_of_an_address_is_noted(tmp_path: Path) -> None:
    records = open_sqlite(tmp_path / "records.sqlite")
    with noted(records, "fonds sources add https://anne:hunter2@example.org/feed"):
        pass
    assert "hunter2" not in Acts(records, now).newest(1)[0].what
    records.close()
