"""Runs a bench of `tests/vm/guest` in the virtual machine with cgroup v2 and reads its trials.

EVICTD_VM_TRIALS is the number of trials of each kind. Needs root for building the machine once.
"""

import json
import os
from pathlib import Path
from typing import Any

from bench.suite_reaction import find_earlyoom
from evictd.errors import EvictdError
from tests.vm.__main__ import RESULTS, main

MEMORY_MIB = 1024
"""Half of what the tests have: the hogs have to fill it page by page under emulation."""
TRIALS = "EVICTD_VM_TRIALS"

Trials = dict[str, list[dict[str, Any]]]
"""By mode, or by mode and kind, in the order of their first trials."""


def trials(
    suite: str,
    file: str,
    *,
    limit_seconds: int,
    kinds: tuple[str, ...] = ("mode",),
    memory_mib: int = MEMORY_MIB,
    select: str = "",
) -> Trials:
    """Boot the machine and run `bench_FILE.py`; empty where that is not possible. `kinds` are the fields that tell groups.

    `select` is pytest's expression (`-k`) for a part of the file.
    """
    if os.geteuid() != 0:
        print(f"{suite}: needs root; left out")
        return {}
    try:
        find_earlyoom(Path("build/earlyoom"))
    except EvictdError as error:
        print(f"{suite}: without earlyoom: {error}")
    arguments = ["-o", f"python_files=bench_{file}.py"]
    if select:
        arguments += ["-k", select]
    if TRIALS in os.environ:
        arguments.append(f"{TRIALS}={os.environ[TRIALS]}")
    if main(arguments, limit_seconds=limit_seconds, memory_mib=memory_mib) != 0:
        print(f"{suite}: incomplete")
    groups: Trials = {}
    for line in (RESULTS / f"out/{file}.jsonl").read_text().splitlines():
        trial = json.loads(line)
        groups.setdefault(", ".join(trial[kind] for kind in kinds), []).append(trial)
    return groups
