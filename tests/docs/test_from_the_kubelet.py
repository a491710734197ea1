"""docs/from-the-kubelet.md: it promises no more differences than parity.md has."""

import re
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.core.eviction.accounts.release import POD_CLEANUP_TIMEOUT, RELEASE_TIMEOUT
from evictd.core.units.duration import SECOND
from tests.docs.pages import joined

DOCS = Path(__file__).parents[2] / "docs"
PAGE = joined("from-the-kubelet.md")


def test_policy_standard_differs_at_some_points_of_the_documentation_only() -> None:
    """The page said that it differs at all forty; at many of them it is "the same"."""
    parity = (DOCS / "parity.md").read_text(encoding="utf-8")
    points = re.findall(r"^\| \d+ \| .* \| (.*?) \|$", parity, re.MULTILINE)
    assert len(points) == 40
    assert 10 < sum(each.startswith("The same") for each in points) < 30
    page = " ".join((DOCS / "from-the-kubelet.md").read_text(encoding="utf-8").split())
    assert (
        "differs at some of the [points](parity.md) where the kubelet's code does not follow its documentation" in page
    )


def test_both_pages_say_how_long_bytes_and_volumes_of_a_victim_are_waited_for() -> None:
    """Volumes are waited for longer than other bytes; the pages had one time for both."""
    for name in ("from-the-kubelet.md", "parity.md"):
        (line,) = re.findall(r"^.*evictd waits up to .*$", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert re.findall(r"up to (\d+) s", line) == [
            str(each // SECOND) for each in (RELEASE_TIMEOUT, POD_CLEANUP_TIMEOUT)
        ]
        assert "volumes" in line


@pytest.fixture
def kubelets(tmp_path: Path) -> Path:
    """A kubelet's file with thresholds of its own."""
    path = tmp_path / "kubelet.yaml"
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    path.write_text(f"{head}evictionHard: {{memory.available: 100Mi, nodefs.available: 20%}}\n")
    return path


def test_the_first_command_says_that_the_kubelets_file_alone_evicts(
    kubelets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page began with a check of that file, and said nowhere that `run` with it is no dry run."""
    main(["check", str(kubelets), "--memory-capacity=8Gi"])
    assert "dryRun: false: `evictd run` evicts pods" in "".join(capsys.readouterr())
    (comment,) = re.findall(r"^((?:    # .*\n)+)    evictd check /var/lib/kubelet/config\.yaml$", PAGE, re.MULTILINE)
    said = " ".join(comment.replace("#", " ").split())
    assert (
        "`evictd run` with this file, which has no dryRun: true, evicts at once, at the kubelet's own thresholds"
        in said
    )


def test_the_page_says_how_thresholds_of_the_kubelet_become_those_of_evictd(
    kubelets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node whose kubelet has thresholds of its own found no sentence on them: the samples are above the defaults only."""
    raised = re.search(
        r"# raise the kubelet's custom ones too: its (\d+%) for nodefs to (\d+%), say\n"
        r"    evictd check \S+ --kubelet-config \S+$",
        PAGE,
        re.MULTILINE,
    )
    assert raised is not None
    assert f"nodefs.available: {raised[1]}" in kubelets.read_text()
    sample = (DOCS.parent / "config/beside-a-kubelet.yaml").read_text(encoding="utf-8")
    named = []
    for text in (sample, sample.replace('nodefs.available: "12%"', f'nodefs.available: "{raised[2]}"')):
        (path := tmp_path / "config.yaml").write_text(text)
        sizes = ["--memory-capacity=8Gi", "--nodefs-capacity=100G", "--imagefs-capacity=100G"]
        main(["check", str(path), "--kubelet-config", str(kubelets), *sizes])
        named.append("KubeletActsFirst" in "".join(capsys.readouterr()))
    assert named == [True, False]
