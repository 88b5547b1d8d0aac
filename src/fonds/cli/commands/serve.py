"""`fonds serve`: the library in a browser."""

from __future__ import annotations

from contextlib import closing
from importlib import import_module
from typing import Any

import click
from rich.markup import escape

from fonds.cli.context import SPOOL, App, command, console

PORT_MAX = 65535


@command("serve")
@click.option(
    "--host",
    "web_host",
    help="Address to listen on; other machines see it only if you say so here.",
)
@click.option("--port", "web_port", type=click.IntRange(0, 65535))
@click.option(
    "--replay-port",
    "web_replay_port",
    type=click.IntRange(0, 65535),
    help="Port captures are replayed on [the one behind --port].",
)
def serve(app: App, **flags: Any) -> int:
    """Show the library as web pages, with a JSON API beside them, and replay its captures.

    Captures are replayed on a port of their own, where nothing in them runs or reaches the pages.

    \b
    fonds serve
    fonds serve --port 9000
    """
    # The command line and the pages do not see each other: these are loaded by their name.
    create_app = import_module("fonds.web.app").create_app
    create_replay = import_module("fonds.web.replay.app").create_replay
    origin = import_module("fonds.web.replay.origin").ReplayOrigin
    rebuild_threads = import_module("fonds.wiring.recurring.collections").rebuild_threads
    settings = app.settings(**flags)
    serving = import_module("fonds.web.serving.server")
    make_gate = import_module("fonds.web.access.gate").make_gate
    make_service = import_module("fonds.wiring.recurring.collections").make_service
    open_page_views = import_module("fonds.wiring.readers").open_page_views
    stores, web = app.stores(settings), settings.web
    port = web.replay_port or (web.port + 1 if 0 < web.port < PORT_MAX else 0)
    with serving.listen(web.host, web.port) as pages, serving.listen(web.host, port) as replay:
        at = origin(web.replay_url, serving.port_of(replay))
        screen = console(stderr=True)
        screen.print(f"Serving {escape(str(app.home))} at {serving.shown(web.host, pages)}")
        screen.print(f"Replaying captures at {serving.shown(web.host, replay)}web/")
        gate = make_gate(stores.records, web.host, settings)
        screen.print(_who_may(gate), markup=False)
        threads = rebuild_threads(settings, beside_others=True)
        service = make_service(stores, settings.collections.prefix, threads)
        views = open_page_views(app.home / SPOOL, settings)
        shared = {"host": web.host, "gate": gate}
        own = {"service": service, "views": views, "settings": settings, "home": app.home}
        application = create_app(stores, replay=at, **own, **shared)
        with closing(views), service.runs.at_work():
            serving.serve(
                (application, pages),
                (create_replay(stores, url=web.replay_url, **shared), replay),
            )
    return 0


def _who_may(gate: Any) -> str:
    """What is said at the start of who may do what."""
    if gate.keys.are_made():
        reading = "Reading needs a key" if gate.reading_needs_key else "Anybody may read"
        return f"{reading}; whoever changes anything shows a curator's key."
    if gate.is_only_here:
        return "Whoever sits at this machine may do everything; `fonds keys create` makes it ask for keys."
    reading = "nobody may even read" if gate.reading_needs_key else "others may only read"
    return f"Nobody made a key, so {reading}: `fonds keys create NAME --role curator` makes one."
