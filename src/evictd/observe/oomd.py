"""Finds the slices of pods in which systemd-oomd may kill: `ManagedOOMSwap=kill` or `ManagedOOMMemoryPressure=kill`.

The cgroup shows neither setting, and PID 1 answers the question (varlink, `io.systemd.ManagedOOM`) for systemd-oomd alone. So the
unit files and drop-ins are read as PID 1 reads them (systemd.unit(5)), without a process and without D-Bus.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePosixPath

from evictd.config.lint_model import OOMD_SETTINGS, OomdKill
from evictd.core.model.observation import Problem
from evictd.errors import SourceKind
from evictd.observe.reading.roots import Roots

_FOLDERS = (
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "run/systemd/generator.early",
    "etc/systemd/system",
    "etc/systemd/system.attached",
    "run/systemd/system",
    "run/systemd/system.attached",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "run/systemd/generator.late",
)
"""Where PID 1 looks for units, the first one first."""
_SERVICE = "system.slice/systemd-oomd.service"
_LONGEST = 1 << 16
"""Bytes of a unit file that are read."""
_QOS = ("burstable", "besteffort")


class OomdReader:
    """Reads the settings once the cgroup of all pods is found, and again if it becomes another one."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._read_for: str | None = None
        self._problems: tuple[Problem, ...] = ()

    def problems(self, pods_cgroup: str | None) -> tuple[Problem, ...]:
        """Return a problem for each slice in which systemd-oomd may kill; `pods_cgroup` is the cgroup of all pods."""
        if pods_cgroup is not None and pods_cgroup != self._read_for:
            self._read_for = pods_cgroup
            self._problems = tuple(
                Problem(
                    source=f"{SourceKind.SYSTEMD_OOMD.value} {kill.unit}",
                    detail=f"{kill.finding.message}; {kill.finding.remedy}",
                )
                for kill in oomd_kills(self._roots, pods_cgroup)
            )
        return self._problems


def oomd_kills(roots: Roots, pods_cgroup: str) -> tuple[OomdKill, ...]:
    """Return the slices with pods in which systemd-oomd may kill, the outermost first.

    None while systemd-oomd does not run (it needs cgroup v2), and a setting for swap counts only on a node with swap.
    """
    try:
        if not (roots.cgroup / _SERVICE).is_dir():
            return ()
        settings = [each for each in OOMD_SETTINGS if each != "ManagedOOMSwap" or _has_swap(roots)]
        found = [OomdKill(unit, _killing(roots.top, unit, settings)) for unit in _slices(pods_cgroup)]
    except OSError:
        return ()
    return tuple(each for each in found if each.settings)


def _slices(pods_cgroup: str) -> Iterator[str]:
    """Yield the slices that pods are in; a cgroup of all pods that is no slice has only the root slice above it."""
    yield "-.slice"
    names = PurePosixPath(pods_cgroup).parts[1:]
    yield from (name for name in names if name.endswith(".slice"))
    if names and names[-1].endswith(".slice"):
        yield from (f"{names[-1].removesuffix('.slice')}-{qos}.slice" for qos in _QOS)


def _killing(root: Path, unit: str, settings: Iterable[str]) -> Mapping[str, Path]:
    """Return the settings of a unit that are `kill`, each with the file that sets it."""
    values = {}
    for file in _files(root, unit):
        for key, value in _assignments(_text(file)):
            values[key] = (value, file)
    return {key: values[key][1] for key in settings if key in values and values[key][0] == "kill"}


def _files(root: Path, unit: str) -> Iterator[Path]:
    """List a unit's files in the order in which their settings take effect: of one key the last one counts."""
    folders = [root / folder for folder in _FOLDERS]
    yield from [file for folder in folders if (file := folder / unit).is_file()][:1]
    # the drop-ins of the unit, of each name that is cut at a dash, and of the type
    parts = unit.removesuffix(".slice").split("-")
    cut = [] if unit == "-.slice" else ["-".join(parts[:length]) + "-.slice" for length in range(len(parts) - 1, 0, -1)]
    drop_ins: dict[str, Path] = {}
    for name in (unit, *cut, "slice"):
        for file in chain.from_iterable(sorted((folder / f"{name}.d").glob("*.conf")) for folder in folders):
            drop_ins.setdefault(file.name, file)
    yield from (drop_ins[name] for name in sorted(drop_ins))


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            section = stripped
        key, equals, value = stripped.partition("=")
        if section == "[Slice]" and equals and key.strip() in OOMD_SETTINGS:
            yield key.strip(), value.strip()


def _has_swap(roots: Roots) -> bool:
    found = re.search(r"^SwapTotal:\s*(\d+)", _text(roots.proc / "meminfo"), re.MULTILINE)
    return found is not None and int(found[1]) > 0


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except OSError:
        return ""
