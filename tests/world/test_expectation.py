"""Checks each assertion that a world file can make."""

from typing import Any

import pytest

from evictd.codec.strict import Span
from evictd.codec.world_fields import ExpectFields
from evictd.core.model.pod import PodSource
from evictd.core.units.duration import SECOND
from evictd.world.account import account_of
from evictd.world.expectation import Expectation, expectations, first_met_at, named_findings, unmet
from evictd.world.loop import play
from tests.playbook import config
from tests.world.worlds import HARD, hog, quiet, world


def judged(expect: dict[str, Any], *pods: Any) -> tuple[str, ...]:
    """The assertions that do not hold in a world of these pods."""
    run = play(world(*(pods or (hog(), *quiet(3)))), config(hard=HARD))
    return unmet(ExpectFields(**expect), run, account_of(run))


@pytest.mark.parametrize(
    "expect",
    [
        {"innocents": 0, "oom_kills": 0},
        {"culprit_gone_within": Span(5 * SECOND), "relieved_within": Span(10 * SECOND)},
        {"evicted": ("default/hog",)},
    ],
)
def test_what_holds(expect: dict[str, Any]) -> None:
    assert judged(expect) == ()


def test_each_assertion_that_is_made_is_there_met_or_not() -> None:
    run = play(world(hog(), *quiet(3)), config(hard=HARD))
    made = ExpectFields(innocents=0, oom_kills=0, evicted=("default/quiet-0",))
    assert expectations(made, run, account_of(run)) == (
        Expectation(field="innocents", text="no pod was evicted without need"),
        Expectation(field="oomKills", text="the kernel killed nothing for want of memory"),
        Expectation(
            field="evicted",
            text="only default/quiet-0 was evicted",
            unmet=("default/hog was evicted, which is not expected", "default/quiet-0 was not evicted"),
        ),
    )


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        ({"innocents": 2}, "at most 2 pods were evicted without need"),
        ({"oom_kills": 1}, "the kernel killed at most 1 process for want of memory"),
        ({"culprit_gone_within": Span(5 * SECOND)}, "the cause was gone within 5s"),
        ({"relieved_within": Span(10 * SECOND)}, "no threshold was met any more after 10s"),
        ({"evicted": ()}, "no pod was evicted"),
        ({"evicted": ("default/a", "default/b")}, "only default/a, default/b were evicted"),
        ({"findings": ("Budget",)}, "evictd reported Budget"),
    ],
)
def test_what_an_assertion_states_in_words(expect: dict[str, Any], text: str) -> None:
    run = play(world(hog(), *quiet(3)), config(hard=HARD))
    (made,) = expectations(ExpectFields(**expect), run, account_of(run))
    assert made.text == text


def test_a_late_end_and_a_wrong_victim() -> None:
    expect = {"culprit_gone_within": Span(0), "relieved_within": Span(0), "evicted": ("default/quiet-0",)}
    found = judged(expect)
    assert found[0].startswith("the culprit default/hog was gone at 1m")
    assert found[1].startswith("a threshold was met until 1m")
    assert found[2:] == ("default/hog was evicted, which is not expected", "default/quiet-0 was not evicted")


def test_a_culprit_that_stays() -> None:
    static = hog(source=PodSource.STATIC, name="static")
    expect = {"culprit_gone_within": Span(0), "relieved_within": Span(0), "findings": ("NothingHelps",), "oom_kills": 0}
    found = judged(expect, static)
    assert "the culprit default/static was not ended" in found, "the kernel killed it, which ends no pod"
    assert any(each.startswith("the kernel killed") for each in found)
    assert "no finding named NothingHelps" in found


def test_when_a_threshold_was_met_first_and_what_was_named() -> None:
    run = play(world(hog(source=PodSource.STATIC, name="static"), *quiet(3)), config(hard=HARD))
    at = first_met_at(run)
    assert at is not None
    assert 60 * SECOND < at < 80 * SECOND
    assert named_findings(run)
    assert first_met_at(play(world(*quiet(1)), config(hard=HARD))) is None
