"""Writes requirements.txt and requirements-plot.txt; with `--sbom` prints an SBOM: `python -m tools.supply_chain [--sbom]`.

The first is what evictd needs to run, the second what `--plot` needs in addition.

The SBOM is CycloneDX 1.5 JSON with every package that evictd loads, its license and the hashes of its files. It has no time and
no serial number, so the same packages give the same text.
"""

import json
import re
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from evictd import __version__

ROOT = Path(__file__).parents[1]
UNUSED = ("kubernetes/aio",)
"""Parts of packages that nothing imports: half of `kubernetes`, 68 MB, is a second client, for asyncio."""
_WHEELS = ("manylinux2014_{0}", "manylinux_2_17_{0}", "manylinux_2_28_{0}")
"""Platforms of wheels that run with Debian 12's libc."""
CONSTRAINTS = ROOT / "constraints.txt"
_PINNED = re.compile(r"^([A-Za-z0-9_.-]+)==(\S+)(?: ;[^\\\n]*?)?((?: \\\n    --hash=\S+)+)", re.MULTILINE)
_HEADER = "# {0}: a part of constraints.txt, written by `python -m tools.supply_chain`.\n"


def canonical(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, str]:
    """Read constraints.txt: its entries, hashes included, by canonical name."""
    return {canonical(found[1]): found[0] for found in _PINNED.finditer(CONSTRAINTS.read_text())}


def wheel_options(machine: str, python: str) -> tuple[str, ...]:
    """Return the options by which pip takes the wheels of another architecture; it then wants `--target` as well."""
    platforms = (f"--platform={each.format(machine)}" for each in _WHEELS)
    return ("--only-binary=:all:", "--implementation=cp", f"--python-version={python}", *platforms)


def closure(name: str) -> set[str]:
    """Return what a package needs on this platform, itself included; extras of it are left out."""
    found: set[str] = set()
    left = [canonical(name)]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            wanted = [Requirement(line) for line in distribution(one).requires or ()]
            left += [
                canonical(each.name) for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})
            ]
    return found


def requirements() -> dict[Path, str]:
    """Format the files of requirements, by path."""
    own = closure("evictd") - {"evictd"} | {"setuptools"}
    contents = {
        "requirements.txt": ("What evictd needs to run, and to be built", own),
        "requirements-plot.txt": ("What `evictd --plot` needs beside requirements.txt", closure("matplotlib") - own),
    }
    pins = pinned()
    return {
        ROOT / file: _HEADER.format(what) + "".join(f"{pins[name]}\n" for name in sorted(names))
        for file, (what, names) in contents.items()
    }


def sbom() -> dict[str, Any]:
    """Build the SBOM of what evictd loads."""
    pins = pinned()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "evictd", "version": __version__}},
        "components": [_component(name, pins[name]) for name in sorted(closure("evictd") - {"evictd"})],
    }


def _component(name: str, pin: str) -> dict[str, Any]:
    found: Any = distribution(name).metadata  # an email.message.Message
    classified = [each.rpartition(" :: ")[2] for each in found.get_all("Classifier", []) if each.startswith("License")]
    stated = found.get("License-Expression") or found.get("License") or "".join(classified[:1]) or "unknown"
    version = str(found["Version"])
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [{"license": {"name": stated.splitlines()[0]}}],
        "properties": [{"name": "evictd:sha256", "value": each} for each in re.findall(r"sha256:(\w+)", pin)],
    }


if __name__ == "__main__":
    if "--sbom" in sys.argv:
        sys.stdout.write(json.dumps(sbom(), indent=2) + "\n")
    else:
        for file, text in requirements().items():
            file.write_text(text)
