"""Examples and figures that the pages print are what the program gives."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from evictd.cli import main
from evictd.commands.inputs.source import own_config
from evictd.core.model.attribution import Attribution, Share
from evictd.core.model.config import EvictionLimit, Policy
from evictd.core.model.signal import Signal
from evictd.core.units.duration import HOUR, MINUTE, SECOND
from evictd.render.attribution import attribution_lines
from evictd.world.account import Account, account_of
from evictd.world.file import decode_world
from evictd.world.loop import play
from tests.docs.pages import DOCS
from tools.incidents import FOLDER

HOG = FOLDER / "01-recreated-hog.yaml"
CONFIG = DOCS.parent / "config"
WORLD = "worlds/job-beside-a-database.yaml"
PAUSES = {"no pause": 0, "20 s": 20 * SECOND, "1 min": MINUTE, "5 min": 5 * MINUTE, "1 h": HOUR}


def section(page: str, heading: str) -> str:
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"\n## {heading}")[2]
    return text.partition("\n## ")[0]


def hog(*, pause: int = 0, rate: str = "1Gi", policy: Policy = Policy.STANDARD) -> Account:
    """Play incident 01 with at most one eviction within `pause`."""
    document = yaml.safe_load(HOG.read_text(encoding="utf-8"))
    document["pods"][0]["behaviours"] = [{"grow": {"of": "memory", "rate": rate}}]
    file = decode_world(document)
    config = own_config(file, policy)
    if pause:
        config = replace(config, eviction_limit=EvictionLimit(pods=1, per=pause))
    return account_of(play(file.world, config))


def evictions(account: Account) -> int:
    return sum(account.evictions_by_cause.values())


def seconds_short(account: Account) -> int:
    return round(account.short / SECOND)


def test_the_table_of_pauses_is_what_the_incident_gives() -> None:
    """Two of its cells were a second more."""
    rows = re.findall(r"^\| (\S.*?) \| (\d+) \| (\d+) \| (\d+) \|$", section("incidents.md", "01: "), re.MULTILINE)
    assert [name for name, *_ in rows] == [*PAUSES]
    for name, *printed in rows:
        account = hog(pause=PAUSES[name])
        assert [evictions(account), account.oom_kills, seconds_short(account)] == [*map(int, printed)], name
        assert account.innocents == account.innocents_killed == 0


def test_the_sentences_on_the_incident_have_its_figures() -> None:
    text = " ".join(section("incidents.md", "01: ").split())
    assert f"(policy Kubelet: {evictions(hog(policy=Policy.KUBELET))})" in text
    ends = [loss.decided_at for loss in hog().losses]
    assert f"an eviction each {(ends[-1] - ends[0]) / SECOND / (len(ends) - 1):.1f} s" in text
    slow, paused = hog(rate="100Mi"), hog(rate="100Mi", pause=MINUTE)
    assert f"At 100 MiB/s it is evicted {evictions(slow)} times with {slow.oom_kills} kills" in text
    assert f"with one eviction a minute {evictions(paused)} times with {paused.oom_kills} kills" in text


def test_the_sentence_on_who_took_what_is_short_is_one_of_the_program() -> None:
    (printed,) = re.findall(r"^ +(of \S+ that filled .*)$", section("laws.md", "What evictd reports"), re.MULTILINE)
    nothing = Share(held=0)
    held = Attribution(
        signal=Signal.MEMORY_AVAILABLE,
        used=6 << 30,
        over=MINUTE,
        evictable=Share(held=1 << 30, grown=30 << 20, pods=3),
        protected=nothing,
        leaving=nothing,
        unmeasured=nothing,
        elsewhere=Share(held=2 << 30, grown=1198 << 20),
    )
    at = datetime(2026, 1, 2, 10, 3, tzinfo=UTC).timestamp()
    assert attribution_lines(held, int(at) * SECOND)[0] == printed


@pytest.mark.parametrize(
    ("page", "story"),
    [("scenarios.md", "scenarios/ten-minutes.yaml"), ("scenarios.md", WORLD), ("worlds.md", WORLD)],
)
def test_each_path_given_to_jq_is_in_the_document(page: str, story: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    of_world = story == WORLD
    paths = dict(re.findall(r"(# of a world\n    |    )evictd simulate \S+ --output json \| jq '?([.\w\[\]]+)'?", text))
    main(["simulate", str(CONFIG / story), "--output", "json"])
    document = json.loads(capsys.readouterr().out)
    wanted = [path for begin, path in paths.items() if page == "worlds.md" or begin.startswith("#") == of_world]
    assert wanted
    for path in wanted:
        assert [*found(document, path.lstrip(".").split("."))] != [], path


def found(document: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield what is below a path of `jq`; a key that is missing is an error."""
    if not path:
        yield document
        return
    name, *below = path
    value = document[name.removesuffix("[]")]
    for each in value if name.endswith("[]") else [value]:
        yield from found(each, below)


def test_the_journal_of_a_drill_is_read_by_the_commands_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`history` and `incident` of the journal that `simulate --journal` wrote stand in a remark, which no test ran."""
    (remark,) = re.findall(r"# a new directory; then: (.*)", (DOCS / "worlds.md").read_text(encoding="utf-8"))
    drill = str(tmp_path / "drill")
    commands = [f"evictd simulate {CONFIG / WORLD} --journal drill", *remark.split("; ")]
    for command in commands:
        words = [drill if word == "drill" else word for word in command.split()]
        assert words[0] == "evictd"
        assert main(words[1:]) == 0, command
        assert "Evicted" in capsys.readouterr().out, command


def test_the_sample_of_a_scenario_is_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The world of its page had a test, the scenario none."""
    (block,) = re.findall(
        r"^    kind: scenario .*\n(?:    .*\n)*", (DOCS / "scenarios.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    (tmp_path / "my-node.yaml").write_text(dedent(block))
    assert main(["simulate", str(tmp_path / "my-node.yaml"), "--output", "json"]) == 0
    assert [step["evicted"] for step in json.loads(capsys.readouterr().out)["steps"]] == [["default/web"]]
