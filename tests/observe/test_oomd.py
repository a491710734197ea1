"""Where systemd-oomd may kill, as unit files and drop-ins of a small tree say it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from evictd.observe.oomd import OomdReader, oomd_kills
from evictd.observe.reading.roots import Roots
from tests.trees import Link, Tree, plant

KILL = "[Slice]\nManagedOOMMemoryPressure=kill\n"
SWAP = "[Slice]\nManagedOOMSwap=kill\n"
PODS = "/kubepods.slice"


def node(tmp_path: Path, units: Mapping[str, Tree], *, running: bool = True, swap: int = 1024) -> Roots:
    """A node with these unit folders: `etc`, `control`, `transient`, `usr`."""
    service: Tree = {"system.slice": {"systemd-oomd.service": {"cgroup.procs": "1\n"}}} if running else {}
    plant(tmp_path / "cgroup", service)
    plant(tmp_path / "proc", {"meminfo": f"MemTotal: 8388608 kB\nSwapTotal:  {swap} kB\n"})
    places = {"etc": "etc/systemd/system", "usr": "usr/lib/systemd/system"}
    places |= {"transient": "run/systemd/transient", "control": "etc/systemd/system.control"}
    for name, tree in units.items():
        plant(tmp_path / "top" / places[name], tree)
    return Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", top=tmp_path / "top")


def found(roots: Roots, pods: str = PODS) -> list[tuple[str, dict[str, str]]]:
    return [
        (kill.unit, {name: str(file.relative_to(roots.top)) for name, file in kill.settings.items()})
        for kill in oomd_kills(roots, pods)
    ]


def test_the_slice_of_all_pods_and_the_root_slice_are_named_with_their_files(tmp_path: Path) -> None:
    debian: Tree = {"-.slice.d": {"10-oomd-root-slice-defaults.conf": SWAP}}
    roots = node(tmp_path, {"usr": debian, "transient": {"kubepods.slice": KILL}})
    assert found(roots) == [
        ("-.slice", {"ManagedOOMSwap": "usr/lib/systemd/system/-.slice.d/10-oomd-root-slice-defaults.conf"}),
        ("kubepods.slice", {"ManagedOOMMemoryPressure": "run/systemd/transient/kubepods.slice"}),
    ]


def test_what_does_not_run_kills_nothing(tmp_path: Path) -> None:
    assert found(node(tmp_path, {"etc": {"kubepods.slice": KILL}}, running=False)) == []


def test_without_swap_a_setting_for_swap_has_no_effect(tmp_path: Path) -> None:
    assert found(node(tmp_path, {"etc": {"kubepods.slice": SWAP}}, swap=0)) == []


@pytest.mark.parametrize(
    ("units", "kills"),
    [
        (
            {
                "usr": {"kubepods.slice": KILL},
                "etc": {"kubepods.slice.d": {"a.conf": "[Slice]\nManagedOOMMemoryPressure="}},
            },
            False,
        ),
        ({"usr": {"kubepods.slice": KILL}, "etc": {"kubepods.slice": "[Slice]\n"}}, False),
        (
            {"usr": {"kubepods.slice.d": {"a.conf": KILL}}, "etc": {"kubepods.slice.d": {"a.conf": Link("/dev/null")}}},
            False,
        ),
        (
            {
                "etc": {
                    "kubepods.slice": "[Slice]\n# ManagedOOMMemoryPressure=kill\n[Unit]\nManagedOOMMemoryPressure=kill\n"
                }
            },
            False,
        ),
        ({"etc": {"kubepods.slice.d": {"a.conf": KILL, "b.conf": KILL.replace("kill", "auto")}}}, False),
        ({"etc": {"kubepods.slice.d": {"note": KILL}}}, False),
        ({"usr": {"slice.d": {"a.conf": KILL}}, "control": {"kubepods.slice.d": {"a.conf": "[Slice]\n"}}}, False),
        ({"usr": {"slice.d": {"a.conf": KILL}}, "etc": {"kubepods.slice.d": {"0.conf": "[Slice]\n"}}}, True),
        ({"control": {"kubepods.slice.d": {"a.conf": "[Slice]\n ManagedOOMMemoryPressure = \\\n kill\n"}}}, True),
    ],
    ids=["reset", "replaced", "masked", "other", "last", "no-drop-in", "same-name", "of-all-slices", "blanks"],
)
def test_files_count_as_systemd_reads_them(tmp_path: Path, units: dict[str, Tree], kills: bool) -> None:
    assert ("kubepods.slice" in [unit for unit, _ in found(node(tmp_path, units))]) is kills


def test_slices_on_the_way_to_the_pods_and_of_their_classes_count(tmp_path: Path) -> None:
    roots = node(tmp_path, {"etc": {"kube.slice": KILL, "kube-kubepods-.slice.d": {"a.conf": KILL}}})
    units = [unit for unit, _ in found(roots, "/kube.slice/kube-kubepods.slice")]
    assert units == ["kube.slice", "kube-kubepods-burstable.slice", "kube-kubepods-besteffort.slice"]


def test_pods_outside_of_slices_have_the_root_slice_above_them(tmp_path: Path) -> None:
    roots = node(tmp_path, {"etc": {"-.slice": KILL, "kubepods.slice": KILL}})
    assert [unit for unit, _ in found(roots, "/kubepods")] == ["-.slice"]


def test_the_daemon_names_it_once_the_pods_have_a_cgroup(tmp_path: Path) -> None:
    roots = node(tmp_path, {"etc": {"kubepods.slice": KILL}})
    reader = OomdReader(roots)
    assert reader.problems(None) == ()
    (problem,) = reader.problems(PODS)
    assert problem.source == "systemd-oomd kubepods.slice"
    file = roots.top / "etc/systemd/system/kubepods.slice"
    assert problem.detail == (
        "systemd-oomd may kill containers before evictd acts, of pods of any priority: kubepods.slice has "
        f"ManagedOOMMemoryPressure=kill ({file}); run systemctl set-property -- kubepods.slice "
        "ManagedOOMMemoryPressure=auto, or stop systemd-oomd"
    )
    file.unlink()
    assert reader.problems(PODS) == (problem,)  # read once
    assert reader.problems("/kubepods") == ()
