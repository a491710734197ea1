"""Fuzzes evictd's decoders: `python -m tests.fuzz [--seconds N] [--engine own|atheris] [TARGET...]`.

Each target gets `--seconds`. The own engine makes inputs from tokens of the corpus (`mutate`); atheris, where it is installed
(`pip install evictd[fuzz]`), follows the coverage. An input that breaks the law is written to build/fuzz and ends with status 1.
"""

import argparse
import hashlib
import importlib.util
import resource
import subprocess
import sys
from itertools import islice
from pathlib import Path

from tests.fuzz.mutate import CORPUS

FOUND = Path("build/fuzz")
MEMORY = 1 << 30
"""Bytes of address space beyond what the process has at its start: an input that needs more is a fault."""
SAME = 5
"""Faults of one target after which the next target begins."""


def main() -> int:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target (default 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("own", "atheris"), default=None, help="default: atheris where installed")
    parser.add_argument("--only-child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    args = parser.parse_args()
    if args.only_child:
        return _atheris(args.targets[0], args.seconds)
    FOUND.mkdir(parents=True, exist_ok=True)
    engine = args.engine or ("atheris" if importlib.util.find_spec("atheris") else "own")
    from tests.fuzz.targets import TARGETS

    names = args.targets or list(TARGETS)
    if engine == "own":
        return _own(names, args.seconds, args.seed)
    command = [sys.executable, "-m", "tests.fuzz", "--only-child", "--seconds", str(args.seconds)]
    return max(subprocess.run([*command, name], check=False).returncode for name in names)


def _own(names: list[str], seconds: float, seed: int) -> int:
    from tests.fuzz import large_trees
    from tests.fuzz.run import faults, interrupted_if_endless

    large_trees.entries = large_trees.A_MILLION
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    counts: dict[str, int] = {}
    broken = 0
    for name in names:
        with interrupted_if_endless():
            for fault in islice(faults(name, seconds=seconds, seed=seed, counts=counts), SAME):
                path = FOUND / f"{name}-{hashlib.sha256(fault.data).hexdigest()[:12]}"
                path.write_bytes(fault.data)
                print(f"{fault}\n  kept as {path}", flush=True)
                broken += 1
        print(f"{name:16} {counts[name]:>12,} inputs", flush=True)
    print(f"{'all':16} {sum(counts.values()):>12,} inputs, {broken} faults")
    return int(broken > 0)


def _atheris(name: str, seconds: float) -> int:
    import atheris

    with atheris.instrument_imports(include=["evictd"]):
        from tests.fuzz import large_trees
        from tests.fuzz.run import attempt

    large_trees.entries = large_trees.A_MILLION

    def one(data: bytes) -> None:
        fault = attempt(name, data)
        if fault is not None:
            raise AssertionError(str(fault)) from fault.error

    grown = FOUND / name  # what reaches new code is kept for the next run
    grown.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={int(seconds)}", "-rss_limit_mb=1024", f"-artifact_prefix={FOUND}/{name}-"]
    atheris.Setup([sys.argv[0], *limits, str(grown), str(CORPUS / name)], one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
