"""What proves where the files of a release come from: SBOM and provenance, as JSON texts that are equal for equal files."""

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evictd import __version__
from evictd_testnode.binaries import unpack_packages
from tools.image import PACKAGES
from tools.packing import digest
from tools.supply_chain import sbom

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:evictd:make-release:v1"
"""`make release` of a clean checkout, as docs/verify.md describes it."""
_CHANGE = re.compile(r"^\S+ \(([^)]+)\)")


def packages_sbom() -> str:
    """Return the CycloneDX document of the Python packages that evictd loads."""
    return _text(sbom())


def image_sbom(cache: Path) -> str:
    """Return the CycloneDX document of the image: the Python packages, and Debian's with their versions."""
    root = unpack_packages(cache, "python", PACKAGES)
    made = sbom()
    made["components"] += [_debian_component(root, name) for name in sorted(PACKAGES)]
    return _text(made)


def _debian_component(root: Path, name: str) -> dict[str, Any]:
    version = debian_version(root / "usr/share/doc" / name)
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:deb/debian/{name}@{version}",
    }


def debian_version(documents: Path) -> str:
    """Read a package's version from the first line of its change log; `unknown` where it has none."""
    for name in ("changelog.Debian.gz", "changelog.gz"):
        path = documents / name
        if path.is_file():
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
                found = _CHANGE.match(file.readline())
            return found[1] if found else "unknown"
    return "unknown"


def provenance(files: Sequence[Path], *, commit: str, inputs: Sequence[Path]) -> str:
    """Return an in-toto statement: these files were made by `make release` from this commit and these pinned inputs."""
    resolved = [{"uri": "git+file:.", "digest": {"gitCommit": commit}}]
    resolved += [{"uri": f"file:{path.name}", "digest": {"sha256": digest(path)}} for path in inputs]
    definition = {
        "buildType": BUILD_TYPE,
        "externalParameters": {"version": __version__},
        "resolvedDependencies": resolved,
    }
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": path.name, "digest": {"sha256": digest(path)}} for path in files],
        "predicateType": PREDICATE,
        "predicate": {"buildDefinition": definition, "runDetails": {"builder": {"id": BUILD_TYPE}}},
    }
    return _text(statement)


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"
