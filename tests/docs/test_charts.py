"""docs/charts.md: what it says of a component is what the component does."""

import re
import shutil
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import CHART, DEPLOY, documents, kustomized
from tests.deploy.test_chart import VALUES, merged, rendered

PAGE = (Path(__file__).parents[2] / "docs/charts.md").read_text(encoding="utf-8")
COMPONENT = DEPLOY / "components/network-policy"
SECTION = PAGE.partition("\n## Network policy\n")[2].partition("\n## ")[0]


def egress(items: list[Any]) -> list[Any]:
    """Return the only rules for what evictd's pod reaches."""
    (rules,) = (each["spec"]["egress"] for each in items if "egress" in each.get("spec", {}))
    found: list[Any] = rules
    return found


def test_no_text_says_that_the_network_policy_leaves_the_api_server_alone() -> None:
    """Three texts said that only the API server is reached: the rule has ports and no host."""
    (rule,) = egress(documents(COMPONENT / "networkpolicy.yaml"))
    (of_chart,) = egress([*rendered(merged(VALUES, {"networkPolicy": {"enabled": True}})).values()])
    assert rule == of_chart == {"ports": [{"protocol": "TCP", "port": port} for port in (443, 6443)]}
    (row,) = re.findall(r"^\| `network-policy` \|.*$", PAGE, re.MULTILINE)
    texts = [row, *(path.read_text(encoding="utf-8") for path in (COMPONENT).iterdir())]
    texts += re.findall(
        r"^networkPolicy:\n(?: .*\n)*", (CHART / "values.yaml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(texts) == 4
    for text in texts:
        assert "only the api server" not in text.lower()
        assert "any host" in text


def test_the_value_and_the_patch_of_the_page_name_the_same_hosts(tmp_path: Path) -> None:
    """With kustomize no page said how the policy is limited to the API server."""
    (block,) = re.findall(r"^    - target: .*\n(?:    .*\n)+", SECTION, re.MULTILINE)
    (patch,) = yaml.safe_load(dedent(block))
    ((operation),) = yaml.safe_load(patch["patch"])
    (peers,) = re.findall(r"`networkPolicy: \{enabled: true, to: (\[.*?\])\}`", SECTION)
    assert yaml.safe_load(peers) == operation["value"]
    (of_chart,) = egress(
        [*rendered(merged(VALUES, yaml.safe_load(f"networkPolicy: {{enabled: true, to: {peers}}}"))).values()]
    )
    assert of_chart["to"] == operation["value"]
    shutil.copytree(COMPONENT, tmp_path / "component")
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({"components": ["component"], "patches": [patch]}))
    made = kustomized(tmp_path)
    if made is None:
        pytest.skip("neither kubectl nor kustomize is installed")
    assert egress(made) == [of_chart]
