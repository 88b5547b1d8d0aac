"""Passwords come by the environment or by a file, and are shown by nobody."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from fonds.cli.service import log_as_json
from fonds.config import Settings, load_settings
from fonds.model.errors import ConfigurationError
from fonds.model.secrets import redact_secrets
from fonds.wiring.stores import open_backend

FAULTY = """
import logging, sys, threading
from fonds.cli.output import log_plainly
log_plainly()
url = sys.argv[1]
logging.getLogger("x").warning("no answer from %s", url)
try:
    raise OSError("no answer from " + url)
except OSError:
    logging.getLogger("x").exception("it failed")
def fail():
    raise ValueError("in a thread: " + url)
one = threading.Thread(target=fail)
one.start()
one.join()
raise ValueError("at last: " + url)
"""
URL = "postgresql://fonds:s3cret@database:5432/fonds"


def test_a_secret_may_lie_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "records.url").write_text(f"{URL}\n")
    monkeypatch.setenv("FONDS_RECORDS_FILE", str(tmp_path / "records.url"))
    assert load_settings(tmp_path).records == URL


def test_a_file_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FONDS_RECORDS_FILE", str(tmp_path / "nothing"))
    with pytest.raises(ConfigurationError, match=r"Cannot read .*nothing"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (URL, "postgresql://***@database:5432/fonds"),
        ("amqp://guest:gu%40est@[::1]:5672/%2F", "amqp://***@[::1]:5672/%2F"),
        ("kafka://a:9092?sasl.password=s3cret&x=1", "kafka://a:9092?sasl.password=***&x=1"),
        ("sqlite:queue.sqlite", "sqlite:queue.sqlite"),
        ("see https://example.org/a@b", "see https://example.org/a@b"),
    ],
)
def test_users_and_passwords_are_hidden(url: str, shown: str) -> None:
    assert redact_secrets(url) == shown


def test_settings_do_not_show_urls() -> None:
    assert "s3cret" not in repr(Settings(records=URL))


@pytest.mark.parametrize(
    "act",
    [
        lambda: open_backend("records", URL.replace("postgresql", "oracle"), Path()),
        lambda: load_settings(Path(), {"work.queue_high": URL}),
    ],
)
def test_errors_do_not_show_them(act: object) -> None:
    assert callable(act)
    with pytest.raises(ConfigurationError) as told:
        act()
    assert (
        "s3cret" not in f"{told.value!r} {told.value.__cause__!r} {told.value.__context__!r}"
        or (told.value.__suppress_context__)
    )
    assert "s3cret" not in str(told.value)


def test_faults_and_warnings_of_commands_do_not_show_them(tmp_path: Path) -> None:
    """A process of its own: what it leaves unhandled, in two threads, and what it warns of."""
    told = subprocess.run(
        [sys.executable, "-c", FAULTY, URL],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.returncode == 1
    assert told.stderr.count("postgresql://***@database:5432/fonds") == 4
    assert told.stderr.count("Traceback") == 3
    assert "s3cret" not in told.stderr


def test_logs_do_not_show_them(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = (root.handlers, logging.getLogger("fonds").level)
    try:
        log_as_json()
        logging.getLogger("fonds.test").warning("%s does not answer", URL, extra={"step": "x"})
    finally:
        root.handlers = before[0]
        logging.getLogger("fonds").setLevel(before[1])
    line = capsys.readouterr().err
    assert "postgresql://***@database" in line
    assert "s3cret" not in line
    assert '"step": "x"' in line
