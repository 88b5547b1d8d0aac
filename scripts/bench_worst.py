"""Measure CPU on the worst known input of each format, at one size and at twice that size.

python scripts/bench_worst.py                       # 32 MB and 64 MB of each, one process per case
python scripts/bench_worst.py --mb 4 archives       # smaller, and one group
python scripts/bench_worst.py --ratio-max 2.3       # exit code 1 if twice the size costs more than that

A case with a smaller limit is measured at its limit and at half of it. A case under 250 ms has no ratio,
because the clock is not precise enough.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time

from worst_cases import CASES, Case

MEASURED_S_MIN = 0.25
SHORT_S = 3.0
STOPPED_S = 3600


def measure_cpu_s(case: Case, size_bytes: int) -> float:
    """Return CPU seconds without creating the input: the minimum of three rounds if a round is short."""
    data = case.make(size_bytes)
    rounds: list[float] = []
    while len(rounds) < (3 if sum(rounds) < SHORT_S else 1):
        gc.collect()
        began = time.process_time()
        case.run(data)
        rounds.append(time.process_time() - began)
    return min(rounds)


def measure(case: Case, size_mb: float) -> tuple[float, float, float]:
    """Return the megabytes of the larger input, and CPU seconds at half and full size."""
    large_bytes = int(size_mb * 1e6)
    if case.limit_bytes:
        large_bytes = min(large_bytes, case.limit_bytes)
    small = measure_cpu_s(case, large_bytes // 2)
    return large_bytes / 1e6, small, measure_cpu_s(case, large_bytes)


def measure_in_process(group: str, number: int, size_mb: float) -> tuple[float, float, float]:
    """Measure a case in its own process, so that cases do not share memory."""
    words = [sys.executable, __file__, "--mb", str(size_mb), "--case", f"{group}:{number}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=STOPPED_S)
    large_mb, small, large = map(float, done.stdout.split())
    return large_mb, small, large


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(CASES)}")
    words.add_argument("--mb", type=float, default=64, help="the larger size")
    words.add_argument("--ratio-max", type=float, default=2.3)
    words.add_argument("--case", help=argparse.SUPPRESS)
    chosen = words.parse_args()
    if chosen.case:
        group, _, number = chosen.case.partition(":")
        print(*measure(CASES[group][int(number)], chosen.mb))
        return 0
    unknown = [name for name in chosen.groups if name not in CASES]
    if unknown:
        words.error(f"unknown group {unknown[0]!r}; groups are {', '.join(CASES)}")
    print("| worst case | MB | CPU s of half | CPU s | ratio |")
    print("|---|---|---|---|---|", flush=True)
    worst = 0.0
    for group in chosen.groups or CASES:
        for number, case in enumerate(CASES[group]):
            large_mb, small, large = measure_in_process(group, number, chosen.mb)
            ratio = large / small if large >= MEASURED_S_MIN and small else 0.0
            worst = max(worst, ratio)
            ratio_text = f"{ratio:.2f}" if ratio else "-"
            print(
                f"| {case.name} | {large_mb:.0f} | {small:.2f} | {large:.2f} | {ratio_text} |",
                flush=True,
            )
    print(f"\nThe highest ratio is {worst:.2f}; {chosen.ratio_max} is allowed.")
    return 0 if worst <= chosen.ratio_max else 1


if __name__ == "__main__":
    sys.exit(main())
