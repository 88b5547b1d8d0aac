"""Write a flame graph of a job, and print its CPU time by package and by document.

    python scripts/flame_graphs.py ROAD [--out FOLDER] [--documents N] [--json]

ROAD is `pages`, `pdf`, `search`, `audit` or `startup`. The tasks of a road and their input are those
of `bench_against.py`. Each task runs twice: alone, to measure its CPU time, then under py-spy, which
writes `FOLDER/TASK.svg`. If a task has several commands, the graph shows the first.

py-spy looks at all Python threads of the command and its child processes, 100 times a second
(1,000 times for `startup`). A sample counts for the package whose code ran. Code of the standard
library counts for the package that called it. Imports are one line; for `startup`, one per package.
Threads that wait for work are in the graph, but not in the table. The exit code is 2 if py-spy may
not trace processes here.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench_against import (
    ROOT,
    SMALL_PAGES,
    TASKS,
    Checkout,
    Inputs,
    limit_items,
    make_inputs,
    run,
)

OUT = ROOT / "build" / "profile"
ROADS: Mapping[str, Sequence[str]] = {
    "pages": ("small", "real"),
    "pdf": ("pdf",),
    "search": ("search",),
    "audit": ("audit",),
    "startup": ("version", "help", "status", "find"),
}
"""Names of tasks of `bench_against.py`, by the name of the road."""
UNITS = {"search": "searches", "startup": "starts"}
"""What the tasks of a road handle, by the name of the road; documents by default."""

STARTUP_HZ = 1_000
DEFAULT_HZ = 100
SHARE_SHOWN_MIN = 0.01
"""Packages with a smaller share are added up in the last line of the table."""

_FRAME = re.compile(
    r'<title>([^<]*) \([\d,]+ samples?, [\d.]+%\)</title><rect [^>]*\by="(\d+)"'
    r'[^>]*\bfg:x="(\d+)" fg:w="(\d+)"'
)
_FILE = re.compile(r"\(([^()]+?)(?::\d+)?\)$")
_WAITS = frozenset(
    {
        ("threading.py", "Condition.wait"),
        ("threading.py", "Thread._wait_for_tstate_lock"),
        ("selectors.py", "EpollSelector.select"),
        ("selectors.py", "PollSelector.select"),
        ("selectors.py", "_PollLikeSelector.select"),
        ("selectors.py", "SelectSelector.select"),
    }
)
"""Functions in which a thread waits. Their samples are no CPU time."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Rectangle of a flame graph: a function, below the function that called it.

    - `label`: function and file, or a process.
    - `depth`: distance from the edge of the graph in pixels; callees have a greater depth.
    - `start`, `samples`: position and width, in samples.
    """

    label: str
    depth: int
    start: int
    samples: int

    @property
    def function(self) -> str:
        """Name of the function, or the whole label of a process."""
        return _FILE.sub("", self.label).strip()

    @property
    def file(self) -> str:
        """File of the function as the graph names it, or "" for a process."""
        match = _FILE.search(self.label)
        return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class Profile:
    """CPU time of one task.

    - `documents`: number of documents that the task handles; searches or starts in those roads.
    - `cpu_ms_per_document`: CPU time of the command and its processes, measured without py-spy.
    - `samples`: number of samples in the table.
    - `shares`: share of the samples by package, from large to small; the sum is 1.
    """

    task: str
    documents: int
    cpu_ms_per_document: float
    flame_graph: str
    samples: int
    shares: Mapping[str, float]


@dataclass(frozen=True)
class RecordedCheckout(Checkout):
    """Checkout whose next command runs under py-spy; later commands run alone."""

    graph: Path
    rate_hz: int
    recorded_commands: list[str] = field(default_factory=list)

    def build_command(self, home: Path, *words: str) -> list[str]:
        """Return the command line of a Fonds command on a home."""
        command = super().build_command(home, *words)
        if self.recorded_commands:
            return command
        self.recorded_commands.append(" ".join(words))
        return build_recording(self.graph, self.rate_hz, command)


def main() -> None:
    """Profile the tasks of a road and print a table of each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("road", choices=ROADS)
    parser.add_argument("--out", type=Path, help=f"folder of the graphs [{OUT.name}/ROAD]")
    parser.add_argument("--documents", type=int, help="maximum number of documents of each kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    if (fault := find_tracing_fault()) is not None:
        print(fault, file=sys.stderr)
        sys.exit(2)
    out = (options.out or OUT / options.road).resolve()
    out.mkdir(parents=True, exist_ok=True)
    profiles = profile_road(options.road, out, options.documents)
    if options.json:
        print(json.dumps([asdict(profile) for profile in profiles], indent=2))
    else:
        for profile in profiles:
            print_profile(profile, UNITS.get(options.road, "documents"))


def build_recording(graph: Path, rate_hz: int, command: Sequence[str]) -> list[str]:
    """Return the command line that runs a Python command under py-spy and writes its flame graph."""
    # Stopping a process for each sample wakes its waiting threads, which would then count as busy.
    options = ["--nonblocking", "--subprocesses", "--function", "--rate", str(rate_hz)]
    spy = Path(sys.executable).with_name("py-spy")
    return [str(spy), "record", *options, "--output", str(graph), "--", *command]


def find_tracing_fault() -> str | None:
    """Return why py-spy cannot trace a process here, or None if it can."""
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.svg"
        command = build_recording(graph, DEFAULT_HZ, [sys.executable, "-c", busy])
        try:
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return "py-spy is not installed. Install requirements/dev.txt."
        if result.returncode == 0 and graph.exists() and any(iter_frames(graph.read_text())):
            return None
    return (
        "py-spy may not trace processes here. Run as root, allow SYS_PTRACE in the container, or set "
        f"kernel.yama.ptrace_scope to 0. py-spy printed:\n{result.stderr.strip()}"
    )


def profile_road(road: str, out: Path, documents_max: int | None) -> list[Profile]:
    """Run each task of a road alone and under py-spy, and write the flame graphs to `out`."""
    with tempfile.TemporaryDirectory(prefix="flame-graphs-") as name:
        folder = Path(name)
        inputs = make_inputs(folder, documents_max)
        home = folder / "now" / "home"
        home.parent.mkdir()
        plain = Checkout("now", ROOT)
        run(plain, home, "-q", "ingest", str(inputs.small))
        rate_hz = STARTUP_HZ if road == "startup" else DEFAULT_HZ
        profiles = []
        for task in ROADS[road]:
            graph = out / f"{task}.svg"
            cpu_s, _ = (
                _run_task(task, checkout, inputs, home)
                for checkout in (plain, RecordedCheckout("now", ROOT, graph, rate_hz))
            )
            documents = _count_documents(task, inputs, documents_max)
            profiles.append(_build_profile(task, documents, cpu_s, graph))
        return profiles


def _run_task(task: str, checkout: Checkout, inputs: Inputs, home: Path) -> float:
    """Run a task and return its CPU seconds."""
    cpu_s = TASKS[task][1](checkout, inputs, home)
    shutil.rmtree(home.with_name("empty"), ignore_errors=True)
    return cpu_s


def _count_documents(task: str, inputs: Inputs, documents_max: int | None) -> int:
    """Return the number of documents, searches or starts of a task."""
    if task in ("real", "pdf"):
        return sum(1 for path in getattr(inputs, task).rglob("*") if path.is_file())
    if TASKS[task][0] == SMALL_PAGES:
        return limit_items(SMALL_PAGES, documents_max)
    return TASKS[task][0]


def _build_profile(task: str, documents: int, cpu_s: float, graph: Path) -> Profile:
    if not graph.exists():
        sys.exit(f"{task}: py-spy wrote no flame graph")
    samples = count_samples(graph.read_text(), splits_imports=task in ROADS["startup"])
    total = samples.total()
    if total == 0:
        sys.exit(f"{task}: py-spy took no sample. Profile more documents")
    return Profile(
        task=task,
        documents=documents,
        cpu_ms_per_document=1000 * cpu_s / documents,
        flame_graph=str(graph),
        samples=total,
        shares={package: count / total for package, count in samples.most_common()},
    )


def iter_frames(svg: str) -> Iterator[Frame]:
    """Yield the frames of a flame graph of py-spy."""
    for label, depth, start, samples in _FRAME.findall(svg):
        yield Frame(html.unescape(label), int(depth), int(start), int(samples))


def count_samples(svg: str, *, splits_imports: bool) -> Counter[str]:
    """Count the samples of a flame graph by package, without threads that wait.

    Samples of imports count for "imports", or for "PACKAGE (import)" if `splits_imports`.
    """
    counts: Counter[str] = Counter()
    callers: list[Frame] = []
    for frame in sorted(iter_frames(svg), key=lambda frame: (frame.start, frame.depth)):
        while callers and callers[-1].start + callers[-1].samples <= frame.start:
            callers.pop()
        if callers:
            # Time in a callee is no time in its caller.
            counts[_find_package(callers, splits_imports)] -= frame.samples
        callers.append(frame)
        counts[_find_package(callers, splits_imports)] += frame.samples
    counts.pop("", None)
    return +counts


def _find_package(stack: Sequence[Frame], splits_imports: bool) -> str:
    """Return the package for which time in the last function of a stack counts; "" for a wait."""
    if (stack[-1].file, stack[-1].function) in _WAITS:
        return ""
    is_import = any(frame.file.startswith("<frozen importlib") for frame in stack)
    if is_import and not splits_imports:
        return "imports"
    packages = (_get_package(frame.file) for frame in reversed(stack))
    package = next(filter(None, packages), "python")
    return f"{package} (import)" if is_import else package


def _get_package(file: str) -> str:
    """Return the package of a file; "" for the standard library and for generated code."""
    if not file or file.startswith("<"):
        return ""
    folders = file.split("/")[:-1]
    if folders and folders[0] == "fonds":
        return ".".join(folders)
    top = folders[0] if folders else file.removesuffix(".py")
    return "" if top in sys.stdlib_module_names or top in ("", "lib") else top


def print_profile(profile: Profile, unit: str) -> None:
    """Print the CPU time of a task by package. `unit` names what the task handles."""
    each_ms = profile.cpu_ms_per_document
    print(f"\n{profile.task}: {profile.documents:,} {unit}, {each_ms:.2f} ms CPU each")
    print(f"  flame graph: {profile.flame_graph}")
    print(f"  {'share':>7} {'ms each':>9}  package ({profile.samples:,} samples)")
    shown = {name: share for name, share in profile.shares.items() if share >= SHARE_SHOWN_MIN}
    if rest := len(profile.shares) - len(shown):
        shown[f"{rest} others"] = 1 - sum(shown.values())
    for name, share in shown.items():
        print(f"  {share:7.1%} {share * each_ms:9.3f}  {name}")


if __name__ == "__main__":
    main()
