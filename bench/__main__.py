"""`python -m bench SUITE ...`: run suites by name; each is a module of this folder with `run() -> list[Result]`."""

import importlib
import os
import sys
from pathlib import Path

from bench.harness import show
from evictd.demo import watchman

SUITES = sorted(path.stem for path in Path(__file__).parent.glob("suite_*.py"))


def main(names: list[str]) -> int:
    """Run each suite named; `all` stands for every one."""
    known = {name.removeprefix("suite_"): name for name in SUITES}
    wanted = list(known) if names in ([], ["all"]) else names
    for name in wanted:
        if name not in known:
            print(f"no suite {name!r}; there are: {', '.join(known)}", file=sys.stderr)
            return 2
    if os.geteuid() == 0:
        watchman.post("tests.watchman")
    for name in wanted:
        show(importlib.import_module(f"bench.{known[name]}").run())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
