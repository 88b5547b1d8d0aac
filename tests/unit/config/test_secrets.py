"""Passwords are read from the environment or a file, and never shown."""

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
from fonds.wiring.backends import open_backend

SCRIPT = """
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
thread = threading.Thread(target=fail)
thread.start()
thread.join()
raise ValueError("at last: " + url)
"""
URL = "postgresql://fonds:s3cret@database:5432/fonds"


def test_a_secret_is_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "records.url").write_text(f"{URL}\n")
    monkeypatch.setenv("FONDS_RECORDS_FILE", str(tmp_path / "records.url"))
    assert load_settings(tmp_path).records == URL


def test_a_missing_file_of_a_secret_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FONDS_RECORDS_FILE", str(tmp_path / "nothing"))
    with pytest.raises(ConfigurationError, match=r"Cannot read .*nothing"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        (URL, "postgresql://***@database:5432/fonds"),
        ("amqp://guest:gu%40est@[::1]:5672/%2F", "amqp://***@[::1]:5672/%2F"),
        ("kafka://a:9092?sasl.password=s3cret&x=1", "kafka://a:9092?sasl.password=***&x=1"),
        ("sqlite:queue.sqlite", "sqlite:queue.sqlite"),
        ("see https://example.org/a@b", "see https://example.org/a@b"),
    ],
)
def test_users_and_passwords_are_redacted(url: str, redacted: str) -> None:
    assert redact_secrets(url) == redacted


def test_the_repr_of_settings_shows_no_password() -> None:
    assert "s3cret" not in repr(Settings(records=URL))


@pytest.mark.parametrize(
    "act",
    [
        lambda: open_backend("records", URL.replace("postgresql", "oracle"), Path()),
        lambda: load_settings(Path(), {"work.queue_high": URL}),
    ],
)
def test_errors_show_no_passwords(act: object) -> None:
    assert callable(act)
    with pytest.raises(ConfigurationError) as raised:
        act()
    assert (
        "s3cret" not in f"{raised.value!r} {raised.value.__cause__!r} {raised.value.__context__!r}"
        or (raised.value.__suppress_context__)
    )
    assert "s3cret" not in str(raised.value)


def test_tracebacks_and_warnings_show_no_passwords(tmp_path: Path) -> None:
    """A child process: its unhandled exceptions in two threads, and its warnings."""
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, URL],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode == 1
    assert process.stderr.count("postgresql://***@database:5432/fonds") == 4
    assert process.stderr.count("Traceback") == 3
    assert "s3cret" not in process.stderr


def test_logs_show_no_passwords(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    settings_before = (root.handlers, logging.getLogger("fonds").level)
    try:
        log_as_json()
        logging.getLogger("fonds.test").warning("%s does not answer", URL, extra={"step": "x"})
    finally:
        root.handlers = settings_before[0]
        logging.getLogger("fonds").setLevel(settings_before[1])
    line = capsys.readouterr().err
    assert "postgresql://***@database" in line
    assert "s3cret" not in line
    assert '"step": "x"' in line
