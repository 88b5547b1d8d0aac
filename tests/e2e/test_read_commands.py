"""A page of a PDF drawn for a reader by `fonds serve`: in a child, kept, and told where it cannot be."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from filled_home import open_home
from fonds.config import Settings
from fonds.viewer.pdf_pages import load_stored_view
from fonds.wiring.readers import open_page_views
from reading_home import PAGES, fill_reading

WAIT_S = 60


def test_a_page_is_drawn_by_the_server_and_kept(tmp_path: Path) -> None:
    reading = fill_reading(tmp_path)
    words = (sys.executable, "-m", "fonds", "--home", str(tmp_path), "serve", "--port", "0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        told = serving.stderr.readline() + serving.stderr.readline()
        pages = re.findall(r"http://127\.0\.0\.1:\d+/", told)[0]
        found = _asked(f"{pages}api/files/{reading.pdf}/pages/3?q=recedes")
        assert (found["page_count"], found["why"], len(found["boxes"])) == (3, None, 1)
        with urllib.request.urlopen(pages + found["image_href"][1:], timeout=WAIT_S) as answer:
            assert answer.read(4) == b"RIFF"
        assert "neither pdfium nor" in _asked(f"{pages}api/files/{reading.broken}/pages/1")["why"]
        serving.send_signal(signal.SIGTERM)
        serving.wait(WAIT_S)
    with open_home(tmp_path) as stores:
        views = open_page_views(tmp_path / "tmp", Settings())
        name = f"{reading.pdf} 3 {views.renderer}"
        kept = load_stored_view(stores.blobs, name)
        assert kept is not None
        assert " ".join(word.text for word in kept.words) == PAGES[2]


def _asked(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
        return json.load(answer)
