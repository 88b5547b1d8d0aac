"""What commands that take links have in common: their pipeline, and how servers are held to account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from fonds.cli.names import Name
from fonds.model.link import TlsCheck
from fonds.pipelines import beginning_with
from fonds.pipelines.topics import LINKS

tls_option = click.option(
    "--tls",
    type=Name("check of TLS", map(str, TlsCheck)),
    default=str(TlsCheck.FULL),
    show_default=True,
    help="How servers are held to account: `old` lets old TLS pass, `none` asks for no certificate.",
)


def link_pipeline_option(usual: str, told: str) -> Callable[[Any], Any]:
    """The option of a pipeline that begins with links; `usual` is the default."""
    return click.option(
        "--pipeline",
        type=Name("pipeline that begins with links", beginning_with(LINKS)),
        default=usual,
        show_default=True,
        help=told,
    )
