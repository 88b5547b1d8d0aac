"""`fonds completion`: print the shell script that completes commands, options and values."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import get_completion_class

from fonds.cli.context import App, command
from fonds.cli.names import SuggestingChoice

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FONDS_COMPLETE"


@command("completion", output="a shell script")
@click.argument("shell", type=SuggestingChoice("shell", SHELLS), metavar="SHELL")
@click.pass_context
def completion(ctx: click.Context, app: App, shell: str) -> int:
    """Print a completion script for SHELL (bash, zsh or fish).

    \b
    fonds completion bash > ~/.local/share/bash-completion/completions/fonds
    fonds completion zsh > "${fpath[1]}/_fonds"
    fonds completion fish > ~/.config/fish/completions/fonds.fish
    """
    completion_class: Any = get_completion_class(shell)
    click.echo(completion_class(ctx.find_root().command, {}, "fonds", VARIABLE).source())
    return 0
