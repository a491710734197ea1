"""Scenario files: read, written, and refused with the path of what is wrong."""

import json
from typing import Any

import pytest

from evictd.codec.scenario import BudgetAnswer, MeasurementAges, decode_scenario, encode_scenario
from evictd.codec.state import encode_state
from evictd.core.model.observation import Problem
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.errors import InputError

POD = {"metadata": {"name": "p", "namespace": "default", "uid": "u"}}


def document(**changes: Any) -> dict[str, Any]:
    """A small scenario with changes."""
    steps = [{"at": "0s", "summary": {"node": {}}}, {"at": "10s", "summary": None, "absent": ["u"]}]
    return {"kind": "scenario", "name": "small", "pods": [POD], "steps": steps, **changes}


def test_what_is_written_can_be_read_again() -> None:
    """A failed reading and absent pods included."""
    scenario = decode_scenario(
        document(
            evictedPodsStayActive=True, admit=[POD], filesystems={"dedicatedImageFs": True}, evictd={"dryRun": True}
        )
    )
    assert decode_scenario(encode_scenario(scenario)) == scenario
    assert scenario.steps[1].summary is None
    assert scenario.filesystems.dedicated_image_fs


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (document(kind="story"), "kind: story: not a scenario"),
        (document(steps=[]), "steps: there is none"),
        (document(stepz=[]), r"^stepz: unknown field; did you mean steps\?$"),
        (
            document(xyz=1),
            "^xyz: unknown field; give one of steps, kind, name, config, evictd, filesystems, pods, admit, ",
        ),
        (document(steps=[{"at": "0s", "sumary": {}}]), r"^steps\[0\].sumary: unknown field; did you mean summary\?$"),
        (document(steps=[{"at": "0s", "ages": {"u": {"walks": "1s"}}}]), r"^steps\[0\].ages.u.walks: .* walk\?$"),
        (document(steps=[{"at": "5"}]), r"steps\[0\].at: 5: time: missing unit"),
        (document(steps=[{"at": "9s"}, {"at": "8s"}]), r"steps\[1\].at: 8s: a step back in time, after 9s"),
        (document(steps=[{"at": "0s", "summary": {}}]), r"steps\[0\].summary"),
        (document(pods=[POD, POD]), r"pods\[1\].metadata.uid: u: another pod has it already"),
        (document(pods=[{"metadata": {"name": "p"}}]), r"pods\[0\].metadata.uid: there is none"),
        (document(pods=[{"spec": {"overhead": {"memory": "1GB"}}}]), r"pods\[0\]: .*is not a quantity"),
        (document(name=7), "name"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(broken: dict[str, Any], message: str) -> None:
    """One line each."""
    with pytest.raises(InputError, match=message):
        decode_scenario(broken)


def test_ages_and_refusals_are_read_and_written_again() -> None:
    """What a decision waits for, and what the API server answered."""
    step = {
        "at": "10s",
        "summary": {"node": {}},
        "ages": {"u": {"walk": "12s", "layers": None}},
        "refusals": [{"uid": "u", "retryAfter": "1s", "message": "a budget"}, {"uid": "v"}],
    }
    scenario = decode_scenario(document(steps=[step]))
    assert scenario.steps[0].ages == {"u": MeasurementAges(walk=12 * SECOND, layers=None)}
    assert scenario.steps[0].refusals == (
        BudgetAnswer(uid="u", retry_after=SECOND, message="a budget"),
        BudgetAnswer(uid="v"),
    )
    assert decode_scenario(encode_scenario(scenario)) == scenario
    for field, broken in (("ages", {"u": {"walk": "5"}}), ("refusals", [{"uid": "u", "retryAfter": "5"}])):
        with pytest.raises(InputError, match=rf"steps\[0\].{field}.*: 5: "):
            decode_scenario(document(steps=[{**step, field: broken}]))


def test_all_faulty_pods_are_named_at_once() -> None:
    """Not only the first."""
    bad = {"metadata": {"uid": "x"}, "spec": {"priority": "high"}}
    with pytest.raises(InputError) as caught:
        decode_scenario(document(pods=[bad, POD, bad]))
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["pods[0]", "pods[2]"]


def test_what_a_journal_knows_beside_the_summaries_is_read_and_written_again() -> None:
    pod = {"metadata": {"name": "a", "namespace": "x", "uid": "a", "deletionGracePeriodSeconds": 3}, "spec": {}}
    node = {"memory": {"availableBytes": 1, "workingSetBytes": 2}}
    scenario = decode_scenario(
        document(
            steps=[
                {
                    "at": "0s",
                    "summary": {"node": node},
                    "measured": {"fillRates": {"memory.available": 7}, "stopTime": 9},
                    "state": encode_state(State(last_cycle_at=5)),
                },
                {"at": "1s", "pods": [pod], "ending": ["b"], "problems": [{"source": "nodefs", "detail": "gone"}]},
            ]
        )
    )
    first, second = scenario.steps
    assert first.summary is not None
    assert first.summary[0].memory is not None
    assert (first.summary[0].memory.fill_rate, first.summary[0].stop_time) == (7, 9)
    assert first.state == State(last_cycle_at=5)
    assert [each.deletion_grace_period_seconds for each in second.pods] == [3]
    assert [each.deletion_grace_period_seconds for each in scenario.last_pods if each.uid == "a"] == [3]
    assert second.ending == {"b"}
    assert second.problems == (Problem(source="nodefs", detail="gone"),)
    assert decode_scenario(json.loads(json.dumps(encode_scenario(scenario)))) == scenario
