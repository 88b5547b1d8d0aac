"""`fonds serve`: the library in a browser."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click
from rich.markup import escape

from fonds.cli.context import App, command, console


@command("serve")
@click.option(
    "--host",
    "web_host",
    help="Address to listen on; other machines see it only if you say so here.",
)
@click.option("--port", "web_port", type=click.IntRange(0, 65535))
def serve(app: App, **flags: Any) -> int:
    """Show the library as web pages, with a JSON API beside them.

    \b
    fonds serve
    fonds serve --port 9000
    """
    # The command line and the pages do not see each other: these are loaded by their name.
    create_app = import_module("fonds.web.app").create_app
    settings = app.settings(**flags)
    run = import_module("fonds.web.serving.server").serve
    pages = create_app(app.stores(settings), host=settings.web.host)
    screen = console(stderr=True)
    run(
        pages,
        settings.web.host,
        settings.web.port,
        lambda address: screen.print(f"Serving {escape(str(app.home))} at {address}"),
    )
    return 0
