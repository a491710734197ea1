"""Scenarios made of kubectl's and the kubelet's JSON."""

import json
from pathlib import Path

import pytest

from evictd.codec.times import parse_time
from evictd.commands.inputs.raw_files import raw_scenario
from evictd.core.units.duration import MINUTE
from evictd.errors import InputError
from tests.commands.raw_node import GI, pods_json, summary_json


def test_the_pods_of_the_node_and_the_summaries_in_time(tmp_path: Path) -> None:
    """In the order of their times, whatever the order of the arguments."""
    late, early = summary_json(tmp_path, 5, web=2 * GI), summary_json(tmp_path, 1, web=GI)
    scenario = raw_scenario(pods_json(tmp_path), [late, early])
    assert scenario.name == "node-1"
    assert {pod.name for pod in scenario.pods if not pod.terminal} == {"web", "db"}
    assert [step.at for step in scenario.steps] == [0, 4 * MINUTE]
    assert scenario.begin == parse_time("2026-01-01T00:01:00Z")
    assert scenario.filesystems.dedicated_image_fs is False


def test_pods_of_the_summary_that_the_list_has_not_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are no candidates, and a list of one namespace alone looked as if it were complete."""
    pods, summary = pods_json(tmp_path), summary_json(tmp_path, 1, web=GI)
    raw_scenario(pods, [summary])
    assert capsys.readouterr().err == ""
    document = json.loads(pods.read_text())
    document["items"] = [each for each in document["items"] if each["metadata"]["name"] != "db"]
    pods.write_text(json.dumps(document))
    raw_scenario(pods, [summary])
    assert "is without default/db of the summary; a pod that is not listed is never chosen" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pods", "summary", "message"),
    [
        ('{"kind": "List"}', None, "has no `items`"),
        (None, "{}", "has no `node`"),
        (
            None,
            '{"kind": "World", "node": {"memory": "8Gi"}}',
            "summary-1.json: is a World, and no answer of the kubelet's",
        ),
        (None, '{"node": {"memory": {"time": "noon"}}}', "is not a time"),
        ("[]", None, "is not a list of pods"),
    ],
)
def test_another_file_is_named_with_what_it_lacks(
    tmp_path: Path, pods: str | None, summary: str | None, message: str
) -> None:
    pods_path, summary_path = pods_json(tmp_path), summary_json(tmp_path, 1, web=GI)
    if pods is not None:
        pods_path.write_text(pods)
    if summary is not None:
        summary_path.write_text(summary)
    with pytest.raises(InputError, match=message):
        raw_scenario(pods_path, [summary_path])
