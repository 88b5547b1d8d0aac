"""`fonds serve`: serve the library to browsers."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from fonds.cli.context import SPOOL, App, command, open_console
from fonds.cli.takedown import apply_takedown_list

if TYPE_CHECKING:
    from fonds.web.access.gate import AccessGate

PORT_MAX = 65535


@command("serve", output="log lines; the JSON of the web pages is described at `/docs`")
@click.option(
    "--host",
    "web_host",
    help="Address to listen on. Set it to make the pages reachable from other computers.",
)
@click.option("--port", "web_port", type=click.IntRange(0, PORT_MAX))
@click.option(
    "--replay-port",
    "web_replay_port",
    type=click.IntRange(0, PORT_MAX),
    help="Port for replay of captures [--port + 1].",
)
def serve(app: App, **flags: Any) -> int:
    """Serve the library in a browser.

    Starts a web server with the library's pages, a JSON API and replay of captures.

    Takedowns of the list `takedown_list` that the library does not have are applied first.

    Captures are replayed on a separate port. Scripts in captures do not run,
    and cannot reach the pages.

    \b
    fonds serve
    fonds serve --port 9000
    """
    # Imported here because FastAPI and the pages load slowly, and other commands need neither.
    from fonds.web.access.gate import create_gate
    from fonds.web.app import create_app
    from fonds.web.html.rendering import ReplayOrigin
    from fonds.web.replay import create_replay
    from fonds.web.serving import server
    from fonds.wiring.collections import count_rebuild_threads, create_service
    from fonds.wiring.readers import open_page_views

    settings = app.load_settings(**flags)
    apply_takedown_list(app, settings)
    stores, web = app.open_stores(settings), settings.web
    replay_port = web.replay_port or (web.port + 1 if 0 < web.port < PORT_MAX else 0)
    with (
        server.listen(web.host, web.port) as page_socket,
        server.listen(web.host, replay_port) as replay_socket,
    ):
        replay_origin = ReplayOrigin(web.replay_url, server.get_port(replay_socket))
        screen = open_console(stderr=True)
        page_url = server.format_listen_url(web.host, page_socket)
        replay_url = server.format_listen_url(web.host, replay_socket)
        screen.print(f"Serving {escape(str(app.home))} at {page_url}")
        screen.print(f"Replaying captures at {replay_url}web/")
        gate = create_gate(stores.records, web.host, settings)
        screen.print(_describe_access(gate), markup=False)
        thread_count = count_rebuild_threads(settings, is_shared_machine=True)
        service = create_service(stores, settings.collections.prefix, thread_count)
        page_views = open_page_views(app.home / SPOOL, settings)
        page_app = create_app(
            stores,
            host=web.host,
            replay=replay_origin,
            service=service,
            views=page_views,
            settings=settings,
            gate=gate,
            home=app.home,
        )
        replay_app = create_replay(stores, url=web.replay_url, host=web.host, gate=gate)
        with closing(page_views), service.runs.run_in_background():
            server.serve((page_app, page_socket), (replay_app, replay_socket))
    return 0


def _describe_access(gate: AccessGate) -> str:
    """Return sentences that say who may read and change the library in the browser."""
    if gate.keys.has_any():
        reading_rule = "Reading needs a key" if gate.needs_key_to_read else "Anyone can read"
        return f"{reading_rule}. Changes need the key of a curator."
    if gate.is_loopback_only:
        return (
            "No access keys yet: anyone on this computer has full access. Run `fonds "
            "keys create` to require keys."
        )
    reading_rule = "nobody can read" if gate.needs_key_to_read else "everyone can only read"
    return f"No access keys yet: {reading_rule}. Run `fonds keys create NAME --role curator` to create one."
