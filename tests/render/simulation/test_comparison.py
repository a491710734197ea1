"""Two sides of one scenario; tests/commands/test_what_if has the command."""

from evictd.codec.scenario import decode_scenario
from evictd.commands.inputs.source import own_config
from evictd.config.file import load_yaml
from evictd.core.model.config import Policy
from evictd.render.simulation.comparison import Side, comparison_document
from evictd.simulation import simulate
from tests.stories import SCENARIOS


def test_only_the_steps_that_act_are_listed() -> None:
    plain = load_yaml((SCENARIOS / "min-reclaim.yaml").read_text())
    assert isinstance(plain, dict)
    scenario = decode_scenario(plain)
    sides = [
        Side(name=policy.value, cycles=tuple(simulate(scenario, own_config(scenario, policy)))) for policy in Policy
    ]
    document = comparison_document("x", sides)
    assert [each["name"] for each in document["configurations"]] == [policy.value for policy in Policy]
    for each, side in zip(document["configurations"], sides, strict=True):
        assert len(each["evicted"]) == len(side.evicted) > 0
        assert all(step["actions"] for step in each["steps"])
        assert each["conclusion"]
