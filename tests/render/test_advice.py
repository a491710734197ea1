"""The advice as a table, as fields to copy, and as a picture."""

import io
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from evictd.advice import advise, node_evidence
from evictd.codec.config.kubelet_config import eviction_config
from evictd.core.model.config import Policy
from evictd.core.model.signal import Resource
from evictd.render.advice import advice_document, configuration, draw_advice, print_advice
from evictd.render.console import make_console
from tests.test_advice import MI, reading

USED = {Resource.MEMORY: 700 * MI, Resource.EPHEMERAL_STORAGE: 9000 * MI, Resource.PIDS: 310}
NODES = [
    node_evidence(
        f"n{i}",
        [reading(0, 480, evict="a", rate=i * 40 * MI), replace(reading(3, 4000, gone="a"), outside_pods=USED)],
        ["line 3: damaged"] * (i == 1),
    )
    for i in range(1, 6)
]
ADVICE = advise(NODES, 80)


def test_the_table_has_the_setting_its_evidence_and_what_is_not_covered() -> None:
    out = io.StringIO()
    print_advice(ADVICE, make_console(out, width=200))
    text = out.getvalue()
    assert "memory.available     500Mi  640Mi" in text
    assert (
        "the most was needed on n5 at at 0: 600Mi were used up in 3s until default/a was gone, at 200Mi a second"
        in text
    )
    assert "not covered: n5" in text
    assert "with 640Mi, 4 of 5 evictions leave the reserve, which begin up to 4s earlier; 3 did" in text
    assert "TOO LATE: when the pod was gone, less was left than a reserve: 100Mi of memory, 500Mi of a disk" in text
    assert "memory.lead: Auto" in text
    assert (
        "systemReserved and kubeReserved together: 704Mi of memory; the most in use outside pods was 700Mi on n1"
        in text
    )
    assert "! n1: line 3: damaged" in text


def test_the_fields_can_be_used_as_they_are() -> None:
    fields = configuration(ADVICE)
    assert fields["kubelet"]["evictionHard"] == {"memory.available": "640Mi"}
    assert fields["kubelet"]["systemReserved"] == {"memory": "704Mi", "ephemeral-storage": "9Gi", "pid": "320"}
    assert fields["evictd"] == {"memory": {"lead": "Auto"}}
    assert eviction_config(fields["kubelet"], policy=Policy.STANDARD, default_hard=True).thresholds
    assert advice_document(ADVICE)["signals"][0]["worst"]["node"] == "n5"


def test_nothing_is_advised_of_calm_nodes() -> None:
    out = io.StringIO()
    print_advice(advise([node_evidence("n", [reading(0, 4000)])], 99), make_console(out))
    assert "no eviction for pressure was recorded" in out.getvalue()


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_picture_is_drawn(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"advice.{suffix}"
    draw_advice(ADVICE, path)
    if suffix == "svg":
        assert (
            "memory.available" in ET.tostring(ET.parse(path).getroot(), encoding="unicode")
            or path.stat().st_size > 5000
        )
    draw_advice(advise([], 99), tmp_path / f"none.{suffix}")
