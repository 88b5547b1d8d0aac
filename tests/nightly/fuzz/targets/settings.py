"""Settings files: settings, or a sentence that names the file or the setting."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from fonds.config import SETTINGS_FILE, Settings, load_settings
from fonds.model.errors import ConfigurationError
from fonds.model.secrets import redact_secrets
from nightly.fuzz.guarantees import as_text, holds

HOME = Path(tempfile.mkdtemp(prefix="fuzzed-home-"))
PASSWORD = "hunter2"


def check(data: bytes) -> None:
    """Read a home whose settings file holds the bytes."""
    (HOME / SETTINGS_FILE).write_bytes(data)
    try:
        settings = load_settings(HOME, {"collection": "fuzzed"})
    except ConfigurationError as error:
        holds(bool(str(error)), "an error is a sentence")
    else:
        holds(isinstance(settings, Settings), "settings are settings", settings)
        holds(settings.collection == "fuzzed", "a flag is over the file", settings.collection)
    text = as_text(data)
    shown = redact_secrets(text)
    holds(redact_secrets(shown) == shown, "what is shown hides nothing more", shown)
    hidden = redact_secrets(f"postgresql://user:{PASSWORD}@host/db")
    holds(PASSWORD not in hidden, "a password is hidden", hidden)


def seeds() -> Iterator[bytes]:
    """Files with right, wrong and unknown settings."""
    yield b'collection = "news"\nchildren = 3\nretry_first_s = 1.5\n'
    yield b"children = -1\n"
    yield b'children = "many"\n[table]\na = 1\n'
    yield b'colection = "x"\n'
    yield b'queue = "amqp://user:hunter2@host/%2f"\nrecords = "postgresql://u:p@h/d?password=x"\n'
    yield b'queue = \'sqlite:x\'\nmore_thumbnails = [\'360px-webp\']\nblobs = """\nx"""\n'
    yield b"\xff\xfe"
    yield b"a = 1979-05-27T07:32:00Z\nb = [[1, 2], {c = 3}]\n'' = inf\n"
