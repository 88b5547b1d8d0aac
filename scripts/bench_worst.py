"""CPU of the worst input known for each format, at a size and at twice that size.

python scripts/bench_worst.py                       # 32 MB and 64 MB of each, a case in a process of its own
python scripts/bench_worst.py --mb 4 archives       # smaller, and one group
python scripts/bench_worst.py --ratio-max 2.3       # ends with 1 when twice the size cost more than that

A case that is limited to less is measured at its limit and at half of it. Small inputs cost less than a clock
tells apart: what took under 250 ms at twice the size has no ratio.
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


def cpu_s(case: Case, size_bytes: int) -> float:
    """CPU, the least of three rounds where one is short; making the input does not count."""
    made = case.make(size_bytes)
    rounds: list[float] = []
    while len(rounds) < (3 if sum(rounds) < SHORT_S else 1):
        gc.collect()
        began = time.process_time()
        case.run(made)
        rounds.append(time.process_time() - began)
    return min(rounds)


def measured(case: Case, size_mb: float) -> tuple[float, float, float]:
    """Megabytes of the larger input, and CPU seconds of half of it and of it."""
    large_bytes = int(size_mb * 1e6)
    if case.limit_bytes:
        large_bytes = min(large_bytes, case.limit_bytes)
    small = cpu_s(case, large_bytes // 2)
    return large_bytes / 1e6, small, cpu_s(case, large_bytes)


def in_a_process(group: str, number: int, size_mb: float) -> tuple[float, float, float]:
    """The same in a process of its own, so that no case finds memory another left."""
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
        print(*measured(CASES[group][int(number)], chosen.mb))
        return 0
    unknown = [name for name in chosen.groups if name not in CASES]
    if unknown:
        words.error(f"there is no group {unknown[0]!r}; there are {', '.join(CASES)}")
    print("| worst case | MB | CPU s of half | CPU s | ratio |")
    print("|---|---|---|---|---|", flush=True)
    worst = 0.0
    for group in chosen.groups or CASES:
        for number, case in enumerate(CASES[group]):
            large_mb, small, large = in_a_process(group, number, chosen.mb)
            ratio = large / small if large >= MEASURED_S_MIN and small else 0.0
            worst = max(worst, ratio)
            told = f"{ratio:.2f}" if ratio else "-"
            print(
                f"| {case.name} | {large_mb:.0f} | {small:.2f} | {large:.2f} | {told} |", flush=True
            )
    print(f"\nThe highest ratio is {worst:.2f}; {chosen.ratio_max} is allowed.")
    return 0 if worst <= chosen.ratio_max else 1


if __name__ == "__main__":
    sys.exit(main())
