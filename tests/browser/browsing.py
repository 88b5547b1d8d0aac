"""A real browser, and an application served on a free loopback port."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from starlette.types import ASGIApp

from fonds.web.serving.server import create_server as make_server

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
START_S = 20.0


def find_chromium() -> str:
    """Return the path of the browser. Without one, the tests fail in CI and are skipped elsewhere."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        reason = "no Chromium on this machine; `sh scripts/browser.sh` says what to install"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@contextmanager
def serve_app(app: ASGIApp) -> Iterator[str]:
    """Serve an application; yield its origin."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            deadline = time.monotonic() + START_S
            while not server.started:
                assert thread.is_alive(), "the server failed to start"
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
