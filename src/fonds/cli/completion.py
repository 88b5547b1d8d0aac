"""`fonds completion`: what makes a shell complete commands, options and their values."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import get_completion_class

from fonds.cli.context import App, command
from fonds.cli.names import SuggestingChoice

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FONDS_COMPLETE"


@command("completion")
@click.argument("shell", type=SuggestingChoice("shell", SHELLS), metavar="SHELL")
@click.pass_context
def completion(ctx: click.Context, app: App, shell: str) -> int:
    """Write what makes SHELL (bash, zsh or fish) complete `fonds`, for its own file of such.

    \b
    fonds completion bash > ~/.local/share/bash-completion/completions/fonds
    fonds completion zsh > "${fpath[1]}/_fonds"
    fonds completion fish > ~/.config/fish/completions/fonds.fish
    """
    made: Any = get_completion_class(shell)
    click.echo(made(ctx.find_root().command, {}, "fonds", VARIABLE).source())
    return 0
