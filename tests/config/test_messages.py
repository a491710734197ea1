"""What a person reads who wrote a value in a wrong way: the message leads to what was meant."""

from pathlib import Path

import pytest

from evictd.cli import main

KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
EVICTD = "---\napiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\n"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (KUBELET + "evictionHard: {memory.available: 10}", '"10" alone is 10 bytes'),
        (KUBELET + "evictionMinimumReclaim: {nodefs.available: 10}", 'such as "10Mi" or "10%"'),
        (KUBELET + "evictionHard: {memory.available: 500}", 'such as "500Mi"; "500" alone is 500 bytes'),
        (
            KUBELET + "evictionHard: {imagefs.available: 0.15}",
            'write a percentage, such as "15%"; "0.15" is less than one',
        ),
        (KUBELET + "evictionHard: {nodefs.inodesFree: 0.05}", 'such as "5%"'),
        (KUBELET + "evictionHard: {pid.available: 1000}", 'write it in quotes, as in "1000"'),
        (KUBELET + EVICTD + "pressure: [{above: 20}]", 'not a text; write a percentage, such as "20%"'),
        (KUBELET + EVICTD + "pressure: [{above: 0.2}]", 'such as "20%"'),
        (KUBELET + "evictionPressureTransitionPeriod: 90", "with its unit, such as 90s"),
        (KUBELET + 'evictionPressureTransitionPeriod: "90"', "with its unit, such as 90s"),
        (
            KUBELET + 'evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: "90"}',
            "as 90s",
        ),
        (KUBELET + "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 90}", "as 90s"),
        (KUBELET + "evictionHard: {memory.availabel: 1Gi}", "did you mean memory.available?"),
        (KUBELET + "evictionHard: {gpu: 1Gi}", "the signals are memory.available, "),
        (KUBELET + "dryRun: true", "is a field of EvictdConfiguration; move it to the document of kind"),
        (KUBELET + EVICTD + "memory.lead: Auto", "unknown field; write `memory: {lead: ...}` in the document of kind"),
        (
            KUBELET + EVICTD + "ranking: {exclude: []}",
            "`ranking` has no field `exclude`; give one of prefer, avoid; no setting",
        ),
        (
            KUBELET + EVICTD + "ranking.exclude: []",
            "`ranking` has no field `exclude`; give one of prefer, avoid; no setting",
        ),
        (KUBELET + EVICTD + "memory: {foo: 3}", "`memory` has no field `foo`; give one of formula, lead, watch"),
        (KUBELET + EVICTD + "disk: {freez: Off}", "`disk` has no field `freez`; did you mean freeze?"),
        (KUBELET + EVICTD + "ranking.avoid: []", "write `ranking: {avoid: ...}`"),
        (KUBELET + "cluster.taints: false", "write `cluster: {taints: ...}` in the document of kind EvictdConf"),
        (KUBELET + "evictionMaxPodGracePeriod: 1m30s", "not a whole number; give seconds, such as 90"),
        (KUBELET + 'evictionMaxPodGracePeriod: "60"', "give a whole number from"),
        (KUBELET + EVICTD + "evictionHard: {}", "is a field of KubeletConfiguration; move it to the document of kind"),
        (KUBELET + "evictionHard: {memory.available: 10x}", "give an amount such as 500Mi"),
        (
            KUBELET + EVICTD + "journal: {maxFileSize: 10x}",
            "is not a quantity, which is a number with an optional unit",
        ),
    ],
)
def test_a_message_leads_to_what_was_meant(
    text: str, remedy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text + "\n")
    assert main(["check", str(path)]) == 2
    message = capsys.readouterr().err
    assert remedy in message
    assert "regular expression" not in message


def test_a_number_of_seconds_as_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--eviction-pressure-transition-period", "90"]) == 2
    assert "such as 90s" in capsys.readouterr().err


def test_bytes_without_a_unit_are_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--eviction-hard", "memory.available<10"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "10 is 10 bytes: it is not met before the node stops working; write its unit, such as 10Mi" in shown


def test_a_share_without_a_percent_sign_is_asked_for_as_a_percentage(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--eviction-hard", "imagefs.available<0.15"])
    assert "write its unit, such as 150Mi, or a percentage such as 15%" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("graces", ["{memory.available: 90}", "90s"])
def test_a_grace_period_that_cannot_be_read_is_not_reported_as_missing(
    graces: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(KUBELET + f"evictionSoft: {{memory.available: 1Gi}}\nevictionSoftGracePeriod: {graces}\n")
    assert main(["check", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "line 4: evictionSoftGracePeriod" in line


def test_an_amount_without_unit_is_named_beside_another_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        KUBELET + "evictionHard:\n  memory.available: 500m\n  nodefs.available: 90%\n  imagefs.available: 0.15\n"
    )
    assert main(["check", str(path)]) == 2
    memory, nodefs, imagefs = capsys.readouterr().err.splitlines()
    assert "line 4: evictionHard[memory.available]: 500m is less than a byte" in memory
    assert "line 5: evictionHard[nodefs.available]: 90% is above half of the capacity" in nodefs
    assert "line 6: evictionHard[imagefs.available]: 0.15: is a number" in imagefs


def test_a_misspelt_field_is_named_beside_the_faults_that_it_causes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the missing grace period was named, which the file seemed to hold."""
    path = tmp_path / "c.yaml"
    path.write_text(
        KUBELET + "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriods: {memory.available: 1m}\n"
    )
    assert main(["check", str(path)]) == 2
    missing, misspelt = capsys.readouterr().err.splitlines()
    assert "line 3: evictionSoft[memory.available]: 1Gi: grace period must be specified" in missing
    assert "line 4: evictionSoftGracePeriods: unknown field; did you mean evictionSoftGracePeriod?" in misspelt
