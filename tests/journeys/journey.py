"""Runs the shell commands of a Markdown page, as they are written there, in one home."""

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

from e2e.running import CommandResult, fonds
from e2e.states import state

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("", "sh")
HEREDOC = re.compile(r"<<'(\w+)'")
RUN_MAX_S = 240.0
STOPPED = (0, -signal.SIGTERM)
"""Exit codes of a service that was asked to stop."""
POLL_S = 0.3


def commands(page: str) -> list[str]:
    """Return the commands of the page's shell blocks, in order. A here-document is one command with its text,
    and so are lines that end with a pipe or a backslash."""
    text = (ROOT / page).read_text("utf-8")
    found: list[str] = []
    for language, block in BLOCK.findall(text):
        if language not in SHELL:
            continue
        lines = iter(block.splitlines())
        for line in lines:
            if not line.strip():
                continue
            command = line
            if end := HEREDOC.search(line):
                for more in lines:
                    command += f"\n{more}"
                    if more == end[1]:
                        break
            while command.endswith(("|", "\\")):
                command += f"\n{next(lines)}"
            found.append(command)
    return found


def without_comment(command: str) -> str:
    """Return the command without the comment behind it, to look it up by."""
    return re.sub(r"\s+# .*$", "", command).strip()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether the pages are served at the port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@dataclass
class Journey:
    """A reader of a page: the folder the commands run in, what its placeholders stand for, and their output.

    `replacements` maps a placeholder or an address of the page to what the test has in its place.
    `learn` maps a command to a function that returns further replacements, called after the command.
    `typed` maps a command to what the reader types when it asks.
    `until` maps a service command to a condition; the service is stopped when it holds.
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
        """Run the commands in order; fail at one that ends with an unexpected exit code or a traceback.

        `not_run` maps a command to the reason why it is not run here; each must stand on the page.
        """
        names = [without_comment(page_command) for page_command in page_commands]
        assert not_run.keys() <= set(names), not_run.keys() - set(names)
        for command, name in zip(page_commands, names, strict=True):
            if name in not_run:
                continue
            ran = self.run(command, name)
            self.outputs[name] = ran
            if name in self.learn and ran.code == 0:
                self.replacements.update(self.learn[name]())
            allowed = STOPPED if name in self.until else self.exit_codes.get(name, (0,))
            assert ran.code in allowed, f"{name}\nexit code {ran.code}\n{ran.out}\n{ran.err}"
            assert "Traceback" not in ran.out + ran.err, f"{name}\n{ran.out}\n{ran.err}"

    def run(self, command: str, name: str = "") -> CommandResult:
        """Run one command in bash, with `fonds` and `make run` of this checkout."""
        for word in sorted(self.replacements, key=len, reverse=True):
            command = command.replace(word, self.replacements[word])
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
            env=self._environment(),
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

    def _environment(self) -> dict[str, str]:
        bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}
        scripts = f"{ROOT / 'scripts'}"
        return {**bare, "PYTHONPATH": scripts, "FONDS_HOME": str(self.home), **self.environment}

    def _stop_when_done(self, process: subprocess.Popen[str], is_done: Callable[[], bool]) -> None:
        """Stop a service politely once its condition holds; its exit code is then that of a stopped one."""
        deadline = time.monotonic() + RUN_MAX_S
        while not is_done():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "the service did not do its work in time"
            time.sleep(POLL_S)
        os.killpg(process.pid, signal.SIGTERM)

    def is_settled(self) -> bool:
        """Whether nothing waits in any pipeline of the home."""
        status = fonds(self.home, "status", "--json")
        return status.code == 0 and status.last["pending"] == 0

    def is_at_work(self) -> bool:
        """Whether a worker has reported itself and nothing waits."""
        status = fonds(self.home, "status", "--json")
        return status.code == 0 and bool(status.last["workers"]) and status.last["pending"] == 0

    def largest_cluster(self, collection: str) -> str:
        """Return the label of the first cluster of a collection."""
        return str(fonds(self.home, "clusters", collection, "--json").last["clusters"][0]["label"])

    def audit(self) -> None:
        """The deep audit finds nothing, and every entry has exactly one outcome."""
        ran = fonds(self.home, "audit", "--deep", "--json")
        assert ran.code == 0, ran.out + ran.err
        status = fonds(self.home, "status", "--json").last
        ended = (
            status["done"] + sum(status["dropped"].values()) + sum(status["quarantined"].values())
        )
        assert status["in"] == ended + status["pending"], status

    def kept(self) -> dict[str, Any]:
        """Return what a second run must leave equal: files, captures, documents and texts."""
        found = state(self.home)
        return {part: found[part] for part in ("files", "captures", "documents", "blobs")}
