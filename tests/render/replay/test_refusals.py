"""Which evictions of a replay the API server refused, or may refuse."""

from dataclasses import replace

import pytest

from evictd.codec.decision import encode_decision
from evictd.codec.records.journal import JournalEntry
from evictd.core.model.config import EvictionMethod
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Observation, Outcomes
from evictd.core.model.state import State, Step
from evictd.core.units.duration import SECOND
from evictd.render.replay.readings_end import WhatIf, readings_end_text
from evictd.render.replay.refusals import recorded_refusals
from evictd.render.replay.replayed import Replayed, victims_text
from tests.playbook import config
from tests.render.replay.test_readings_end import eviction

THEN = eviction()
UID = THEN.pod.uid


def at(second: int, *, evicts: bool = False, answer: EvictionAnswerKind | None = None) -> JournalEntry:
    """An entry; its answer is of the second before."""
    answers = () if answer is None else (EvictionAnswer(uid=UID, kind=answer, at=(second - 1) * SECOND),)
    seen = Observation(node=None, pods=(), pod_stats={})
    return JournalEntry(
        now=second * SECOND,
        wall=f"2026-01-31T12:00:{second:02}Z",
        state=State(),
        observation=replace(seen, outcomes=Outcomes(answers=answers)),
        config=config(),
        decisions=(encode_decision(THEN),) if evicts else (),
    )


ASKED, REFUSED, QUIET = at(10, evicts=True), at(11, answer=EvictionAnswerKind.REFUSED), at(15)
AGAIN, GONE = at(20, evicts=True), at(21, answer=EvictionAnswerKind.AGREED)
JOURNAL = ASKED, REFUSED, QUIET, AGAIN, GONE


def replayed(entry: JournalEntry, *, evicts: bool) -> Replayed:
    """The entry, in which the pod is evicted now or not."""
    step = Step(state=State(), decisions=(THEN,) if evicts else (), findings=())
    return Replayed(entry=entry, step=step)


def test_an_eviction_is_refused_by_the_answer_after_it() -> None:
    found = recorded_refusals(JOURNAL)
    assert dict(found.refused) == {(ASKED.wall, UID): "default/hog"}
    assert found.text() == (
        "The API server refused then: default/hog at 2026-01-31T12:00:10Z. How it answers at other times, or to another "
        "podTermination, is not recorded."
    )
    assert [found.may_stay(each.wall, UID) for each in (ASKED, QUIET, AGAIN)] == [True, True, False]
    assert not found.may_stay(QUIET.wall, "another pod")


@pytest.mark.parametrize(
    ("then", "now", "text"),
    [
        (EvictionMethod.AUTO, EvictionMethod.AUTO, "How it answers at other times is not recorded."),
        (
            EvictionMethod.EVICTION_API,
            EvictionMethod.AUTO,
            "How it answers at other times, or to podTermination Auto instead of EvictionAPI, is not recorded.",
        ),
        (
            EvictionMethod.AUTO,
            EvictionMethod.DELETE,
            "With podTermination Delete it is not asked, so no budget keeps these pods.",
        ),
    ],
)
def test_what_is_known_of_how_pods_were_ended_is_said(then: EvictionMethod, now: EvictionMethod, text: str) -> None:
    journal = [replace(each, config=replace(each.config, pod_termination=then)) for each in JOURNAL]
    assert recorded_refusals(journal).text(now).endswith(f"12:00:10Z. {text}")


def test_an_eviction_that_is_not_asked_for_cannot_be_refused() -> None:
    """A pod that a budget kept then would have gone at the first decision with `podTermination: Delete`."""
    both = [replace(replayed(each, evicts=each is ASKED), pod_termination=EvictionMethod.DELETE) for each in JOURNAL]
    assert victims_text(both) == (
        "At other times: default/hog, and possibly more: the readings after 2026-01-31T12:00:10Z are those of "
        "the recorded course."
    )
    (earlier,) = readings_end_text(both, WhatIf(journals="j", options=""))
    assert earlier.startswith("Would have been evicted earlier: default/hog at the latest at 2026-01-31T12:00:10Z")


def test_a_journal_without_a_refusal_says_nothing_of_one() -> None:
    found = recorded_refusals([AGAIN, GONE])
    assert (found.text(), found.may_stay(AGAIN.wall, UID)) == ("", False)


@pytest.mark.parametrize("early", [ASKED, QUIET])
def test_an_attempt_that_may_be_refused_is_no_earlier_eviction(early: JournalEntry) -> None:
    """A refused attempt was called an earlier eviction, and the victims the same."""
    both = [replayed(each, evicts=each is early) for each in JOURNAL]
    assert victims_text(both).startswith("Other victims: then default/hog; whether any pod goes now")
    end, *_ = readings_end_text(both, WhatIf(journals="j", options=""))
    assert end.startswith("The recorded readings end at 1 eviction")


def test_a_refused_eviction_that_is_not_asked_for_now_ends_no_reading() -> None:
    one = [replayed(each, evicts=each is AGAIN) for each in JOURNAL]
    assert readings_end_text(one, WhatIf(journals="j", options="")) == ()
    assert victims_text(one) == "No victim differs: the same pods at the same times: default/hog."
