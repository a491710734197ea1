"""Everything that is installed is pinned with hashes, and the SBOM has everything that evictd loads."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, version

from packaging.specifiers import SpecifierSet

from tools.supply_chain import CONSTRAINTS, ROOT, closure, pinned, requirements, sbom

DEBIAN = "3.11.2"


def python_of(name: str) -> str:
    """Return the releases of Python that a package wants; any for one that is not installed on this platform."""
    try:
        return str(metadata(name).json.get("requires_python", ""))
    except PackageNotFoundError:
        return ""


def test_each_pin_has_hashes_and_is_what_is_installed() -> None:
    pins = pinned()
    named = [line for line in CONSTRAINTS.read_text().splitlines() if line and line[0] not in "# "]
    assert len(named) == len(pins), "an entry without a hash"
    wanted = closure("evictd") - {"evictd"}
    assert wanted <= set(pins)
    assert [name for name in wanted if version(name) != pins[name].split("==")[1].split()[0]] == []


def test_each_pin_installs_on_the_python_of_debian_12() -> None:
    """The machines that the pins are made on may have a later release of Python 3.11."""
    refused = {name: python_of(name) for name in pinned() if not SpecifierSet(python_of(name)).contains(DEBIAN)}
    assert refused == {}


def test_the_requirements_to_run_and_to_plot_are_current() -> None:
    for file, text in requirements().items():
        assert file.read_text() == text, "run: python -m tools.supply_chain"


def test_what_builds_evictd_is_pinned_as_well() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert build == [pinned()["setuptools"].split()[0]]


def test_each_image_that_is_not_pinned_by_a_digest_is_explained() -> None:
    files = [path for path in (ROOT / "deploy").rglob("*") if path.name == "Dockerfile" or path.suffix == ".yaml"]
    named = {
        image
        for path in files
        for image in re.findall(r"^(?:ARG BASE=|\s+image: )([^\s{]+)$", path.read_text(), re.MULTILINE)
    }
    assert len(named) == 3
    explained = (ROOT / "docs/security.md").read_text().partition("### Images")[2]
    assert [image for image in named if "@sha256:" not in image and f"`{image}`" not in explained] == []


def test_the_sbom_names_each_package_with_its_license_and_hashes() -> None:
    components = sbom()["components"]
    assert {each["name"] for each in components} == closure("evictd") - {"evictd"}
    for each in components:
        assert each["licenses"][0]["license"]["name"] not in {"", "unknown", "UNKNOWN"}, each["name"]
        assert len(each["properties"]) >= 1
        assert re.fullmatch(r"pkg:pypi/[a-z0-9-]+@[0-9].*", each["purl"])


def test_no_exception_of_the_security_rules_in_src_is_without_a_reason() -> None:
    """Ruff's `S` rules hold for `src`; a line that breaks one says why."""
    lines = [line for path in (ROOT / "src").rglob("*.py") for line in path.read_text().splitlines()]
    excused = [line for line in lines if re.search(r"# noqa: .*\bS[0-9]{3}", line)]
    assert [line for line in excused if not re.search(r"# noqa: [A-Z0-9, ]+ - \S", line)] == []
