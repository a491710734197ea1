"""Runs suites by name (`python -m bench SUITE ...`); each is a module of this directory with `run() -> list[Result]`."""

import importlib
import os
import sys
from pathlib import Path

from bench.harness import show
from evictd_testnode.sweep import start_cleanup_process

SUITES = sorted(path.stem for path in Path(__file__).parent.glob("suite_*.py"))


def main(names: list[str]) -> int:
    """Run each named suite; `all` runs every suite."""
    known = {name.removeprefix("suite_"): name for name in SUITES}
    wanted = list(known) if names in ([], ["all"]) else names
    for name in wanted:
        if name not in known:
            print(f"no suite {name!r}; there are: {', '.join(known)}", file=sys.stderr)
            return 2
    if os.geteuid() == 0:
        start_cleanup_process("tests.cleanup_process")
    for name in wanted:
        show(importlib.import_module(f"bench.{known[name]}").run())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
