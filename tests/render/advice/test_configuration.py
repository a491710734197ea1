"""The advice as fields of a configuration, and as a file that `evictd check` accepts."""

from dataclasses import replace
from pathlib import Path

from evictd.advice.evidence import node_evidence
from evictd.advice.proposal import advise
from evictd.codec.config.kubelet_config import eviction_config
from evictd.config.file import load
from evictd.core.model.config import Policy
from evictd.render.advice.advice import advice_document
from evictd.render.advice.configuration import configuration, configuration_text
from tests.advice.test_proposal import reading, set_to, with_hard
from tests.render.advice.test_advice import ADVICE


def test_the_fields_can_be_used_as_they_are() -> None:
    fields = configuration(ADVICE)
    assert fields["kubelet"]["evictionHard"] == {"memory.available": "640Mi"}
    assert fields["kubelet"]["systemReserved"] == {"memory": "1408Mi", "ephemeral-storage": "9Gi", "pid": "320"}
    assert fields["evictd"] == {"memory": {"lead": "Auto"}}
    assert eviction_config(fields["kubelet"], policy=Policy.STANDARD).thresholds


def test_a_percentage_of_a_capacity_is_an_amount_with_a_unit() -> None:
    """5% of 50Gi is 2684354600 bytes in single precision, which was written so beside a text of 2.5Gi."""
    signals = [replace(each, hard=2684354600) if each.raised else each for each in ADVICE.signals]
    hard = configuration(replace(ADVICE, signals=tuple(signals)))["kubelet"]["evictionHard"]
    assert hard == {"memory.available": "2560Mi"}


def test_the_advice_is_a_file_that_can_be_loaded(tmp_path: Path) -> None:
    """`evictd check` refused what `evictd advise --output yaml` wrote."""
    file = tmp_path / "advised.yaml"
    file.write_text(configuration_text(ADVICE, "memory.available: proposed\n\n! a problem\x85evictionHard: 1"))
    settings = load(file)
    text = file.read_text()
    assert text.startswith(
        "# memory.available: proposed\n#\n# ! a problem\n# evictionHard: 1\n#\n# Only what is advised: "
    )
    assert "Alone they would drop its other fields: thresholds, `decisionPolicy`.\n" in text
    assert "\napiVersion: kubelet.config.k8s.io/v1beta1\n" in text, (
        "a file with memory alone has no threshold for disks"
    )
    assert [str(each) for each in settings.eviction.thresholds if each.signal.value == "memory.available"] == [
        "memory.available<640Mi"
    ]
    assert not settings.surprises


def test_where_nothing_is_advised_the_file_sets_no_field_and_is_accepted(tmp_path: Path) -> None:
    """`evictd check` refused a file of comments alone: it is empty."""
    (file := tmp_path / "advised.yaml").write_text(configuration_text(advise([], 99), "nothing is proposed"))
    assert file.read_text() == (
        "# nothing is proposed\n#\n# Nothing is advised: this document sets no field. Keep your configuration.\n"
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    )
    assert not load(file).surprises


def test_the_nodes_whose_threshold_the_file_would_lower_are_named_beside_its_fields() -> None:
    """A file for all nodes with 200Mi, of `--cover 90`, lowered 500Mi of one node unawares."""
    quiet = node_evidence("quiet", [with_hard(reading(0, 4000), 200)])
    nodes = [*(set_to(120, 119, 40, node) for node in "abcdefghi"), quiet]
    not_for = "# Not for nodes whose evictionHard it would lower: quiet.\napiVersion: "
    assert not_for in configuration_text(advise(nodes, 80), "")
    assert "Not for" not in configuration_text(advise(nodes, 99), "")
    [memory] = advice_document(advise(nodes, 80))["signals"]
    assert memory["notFor"] == ["quiet"]
