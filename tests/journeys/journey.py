"""Run the shell commands of a Markdown page in one home."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.running import CommandResult, fonds, run_forked
from e2e.states import state

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("", "sh")
HEREDOC = re.compile(r"<<'(\w+)'")
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\\\]*\"")
SHELL_SYNTAX = re.compile(r"[|&;<>$`\\\\*?\[~{\n]")
RUN_MAX_S = 600.0
STOPPED = (0, -signal.SIGTERM)
"""Exit codes of a stopped service."""
POLL_S = 0.3


def read_commands(page: str) -> list[str]:
    """Return the commands of the shell blocks of a page, in order.

    A here-document belongs to its command, and so do the lines after a pipe or backslash at a line end.
    """
    text = (ROOT / page).read_text("utf-8")
    page_commands: list[str] = []
    for language, block in BLOCK.findall(text):
        if language not in SHELL:
            continue
        lines = iter(block.splitlines())
        for line in lines:
            if not line.strip():
                continue
            command = line
            if end := HEREDOC.search(line):
                for next_line in lines:
                    command += f"\n{next_line}"
                    if next_line == end[1]:
                        break
            while command.endswith(("|", "\\")):
                command += f"\n{next(lines)}"
            page_commands.append(command)
    return page_commands


def remove_comment(command: str) -> str:
    """Return the command without its trailing comment, as lookup key."""
    return re.sub(r"\s+# .*$", "", command).strip()


def parse_plain_command(command: str) -> list[str] | None:
    """Return the arguments of a `fonds` command; None if the command needs a shell.

    It needs one for pipes, redirections, variables, patterns of file names and several commands.
    """
    program, _, rest = remove_comment(command).partition(" ")
    if program not in ("fonds", ".venv/bin/fonds") or SHELL_SYNTAX.search(QUOTED.sub("", rest)):
        return None
    return shlex.split(rest)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_served(port: int) -> bool:
    """Tell whether the pages are served at the port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@dataclass
class Journey:
    """A run of the commands of a page: their folder, replacements and outputs.

    `replacements` maps placeholders and addresses of the page to values of the test.
    `learn` maps a command to a function that returns further replacements after the command.
    `typed` maps a command to its standard input.
    `until` maps a service command to a condition; the service is stopped when it is true.
    """

    folder: Path
    home: Path
    replacements: dict[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    until: Mapping[str, Callable[[], bool]] = field(default_factory=dict)
    exit_codes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    learn: Mapping[str, Callable[[], Mapping[str, str]]] = field(default_factory=dict)
    outputs: dict[str, CommandResult] = field(default_factory=dict)

    def walk(self, page_commands: Sequence[str], not_run: Mapping[str, str]) -> None:
        """Run the commands in order; fail at an unexpected exit code or a traceback.

        `not_run` maps commands to the reason why they are not run here; each must be on the page.
        """
        names = [remove_comment(page_command) for page_command in page_commands]
        assert not_run.keys() <= set(names), not_run.keys() - set(names)
        for command, name in zip(page_commands, names, strict=True):
            if name in not_run:
                continue
            result = self.run(command, name)
            self.outputs[name] = result
            if name in self.learn and result.code == 0:
                self.replacements.update(self.learn[name]())
            allowed = STOPPED if name in self.until else self.exit_codes.get(name, (0,))
            assert result.code in allowed, (
                f"{name}\nexit code {result.code}\n{result.out}\n{result.err}"
            )
            assert "Traceback" not in result.out + result.err, f"{name}\n{result.out}\n{result.err}"

    def run(self, command: str, name: str = "") -> CommandResult:
        """Run one command as bash does, with `fonds` and `make run` of this checkout.

        A plain `fonds` command is run in a process that has Fonds loaded, which is faster.
        """
        for word in sorted(self.replacements, key=len, reverse=True):
            command = command.replace(word, self.replacements[word])
        if name not in self.until and (arguments := parse_plain_command(command)) is not None:
            return run_forked(
                arguments,
                self.typed.get(name, "").encode(),
                self._build_environment(),
                folder=self.folder,
                errors="replace",
            )
        python = shlex.quote(sys.executable)
        command = re.sub(r"(?<![\w./-])fonds (?=[a-z])", f"{python} -m fonds ", command)
        command = command.replace(".venv/bin/fonds ", f"{python} -m fonds ")
        command = re.sub(
            r'^make run(?: +(DATA="[^"]*"))?',
            lambda match: f"{match[1] or ''} {python} {ROOT}/scripts/run.py",
            command,
        )
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._build_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        if name in self.until:
            self._stop_when_done(process, self.until[name])
        try:
            out, err = process.communicate(self.typed.get(name, ""), timeout=RUN_MAX_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return CommandResult(process.returncode, out, err)

    def _build_environment(self) -> dict[str, str]:
        bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}
        scripts = f"{ROOT / 'scripts'}"
        return {**bare, "PYTHONPATH": scripts, "FONDS_HOME": str(self.home), **self.environment}

    def _stop_when_done(self, process: subprocess.Popen[str], is_done: Callable[[], bool]) -> None:
        """Stop a service with SIGTERM when its condition is true."""
        deadline = time.monotonic() + RUN_MAX_S
        while not is_done():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "the service did not do its work in time"
            time.sleep(POLL_S)
        os.killpg(process.pid, signal.SIGTERM)

    def is_settled(self) -> bool:
        """Tell whether nothing is pending in the home."""
        status = fonds(self.home, "status", "--json")
        return status.code == 0 and status.last["pending"] == 0

    def is_at_work(self) -> bool:
        """Tell whether a worker has reported itself and nothing is pending."""
        status = fonds(self.home, "status", "--json")
        return status.code == 0 and bool(status.last["workers"]) and status.last["pending"] == 0

    def get_first_cluster(self, collection: str) -> str:
        """Return the label of the first cluster of a collection."""
        return str(fonds(self.home, "clusters", collection, "--json").last["clusters"][0]["label"])

    def audit(self) -> None:
        """Check that the deep audit finds no faults and every entry has exactly one outcome."""
        result = fonds(self.home, "audit", "--deep", "--json")
        assert result.code == 0, result.out + result.err
        status = fonds(self.home, "status", "--json").last
        ended = (
            status["done"] + sum(status["dropped"].values()) + sum(status["quarantined"].values())
        )
        assert status["in"] == ended + status["pending"], status

    def read_state(self) -> dict[str, Any]:
        """Return the state that a second run must not change: files, captures, documents and texts."""
        full_state = state(self.home)
        return {part: full_state[part] for part in ("files", "captures", "documents", "blobs")}
