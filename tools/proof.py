"""What proves where the files of a release come from: SBOM and provenance, as JSON texts that are equal for equal files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evictd import __version__
from tools.debs import Deb
from tools.packing import digest
from tools.supply_chain import sbom

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:evictd:make-release:v1"
"""`make release` of a clean checkout, as docs/verify.md describes it."""


def packages_sbom() -> str:
    """Return the CycloneDX document of the Python packages that evictd loads."""
    return _text(sbom())


def image_sbom(debs: Mapping[str, Sequence[Deb]]) -> str:
    """Return the CycloneDX document of the image: the Python packages, and Debian's for each architecture."""
    made = sbom()
    made["components"] += [_debian_component(deb, arch) for arch in sorted(debs) for deb in sorted(debs[arch])]
    return _text(made)


def _debian_component(deb: Deb, architecture: str) -> dict[str, Any]:
    return {
        "type": "library",
        "name": deb.name,
        "version": deb.version,
        "purl": f"pkg:deb/debian/{deb.name}@{deb.version}?arch={architecture}",
        "hashes": [{"alg": "SHA-256", "content": deb.sha256}],
    }


def provenance(files: Sequence[Path], *, commit: str, inputs: Sequence[Path], debs: Sequence[Deb]) -> str:
    """Return an in-toto statement: these files were made from this commit, these pinned inputs and Debian packages."""
    resolved = [{"uri": "git+file:.", "digest": {"gitCommit": commit}}]
    resolved += [{"uri": f"file:{path.name}", "digest": {"sha256": digest(path)}} for path in inputs]
    resolved += [{"uri": f"file:{deb.file}", "digest": {"sha256": deb.sha256}} for deb in sorted(debs)]
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
