"""Says what came of a world that was played: the pods that were lost, the relief, and the same world without evictd."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evictd.core.eviction.refusals.eviction_method import is_hard
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionMethod, own_thresholds
from evictd.core.model.decision import begun_evictions
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import MEMORY_SIGNALS, Signal, signal_named
from evictd.core.units.duration import SECOND
from evictd.render.past_budget import past_budget_text
from evictd.render.simulation.grace import grace_texts
from evictd.render.simulation.met_at_start import met_at_start_texts
from evictd.render.simulation.worlds.by_itself import by_itself_text, ended_by_itself
from evictd.render.simulation.worlds.host_growth import host_filled, host_filled_texts, host_growth_texts
from evictd.render.simulation.worlds.world_relief import needed_text, relief_texts, slot_names
from evictd.render.simulation.worlds.world_unattended import cost_texts, grows_on, unattended_texts, within_played
from evictd.render.simulation.worlds.world_warnings import warnings_text
from evictd.render.text import clean, clock, counted, duration_text, signal_amount
from evictd.world.account import OOM_KILLED, Account, Loss, Verdict
from evictd.world.api_server import outage_at, waits_for
from evictd.world.behaviours import Usage
from evictd.world.expectation import Expectation
from evictd.world.kernel import OomKill
from evictd.world.lifecycle import CutShort, EndCause, EvictionRefused, PodArrival, PodEnd
from evictd.world.loop import Run
from evictd.world.model import Outage, World
from evictd.world.oracle import on_its_disk
from evictd.world.process import Process

_SLOW = 1 * SECOND
"""If a pod is gone this time or more after the decision, the conclusion has both times."""

_FOR_ITS_OWN = (
    "`expect` is for the file's own configuration, and its times count from the first threshold that is met, also a soft one: "
    "with --compare, instead of --config or --policy, the exit status is that of the file's own."
)


@frozen
class PlayedWorld:
    """A world that was played with one configuration, and its result."""

    name: str
    """Name of the configuration or policy."""
    run: Run
    account: Account
    unattended: Run | None = None
    """The same world without evictd, to say what would have happened on the node."""
    expectations: tuple[Expectation, ...] = ()
    """What the world file expects, and whether it came so."""
    by_another: bool = False
    """Whether a configuration or policy was given instead of the file's own, for which it expects that."""
    from_reading: bool = False
    """Whether it was played on from a reading of a node (`--grow`), with or without readings before."""
    before: tuple[str, ...] = ()
    """What the readings had from which it was played on, as sentences."""
    warnings: tuple[str, ...] = ()
    """What is said of the world file beside the warnings of every world."""


def played_text(played: PlayedWorld) -> list[str]:
    """Write what came of a world, after what the readings had from which it was played on."""
    outcome = outcome_text(played.run, played.account, played.unattended)
    # Played on from a reading, the threshold was met on the node: that is no fault of the world's.
    at_start = () if played.from_reading else met_at_start_texts(played.run)
    return [*played.before, *outcome, *at_start, *played.warnings]


def outcome_text(run: Run, account: Account, unattended: Run | None = None) -> list[str]:
    """Write what came of a run, one sentence each."""
    by_host = not account.culprit_gone_at and host_filled(run)
    if by_host:
        account = replace(account, culprits=frozenset())  # what grows slowly beside the host is not what filled memory
    evicted = [loss for loss in account.losses if loss.cause != OOM_KILLED]
    by_itself = ended_by_itself(run, account, unattended)
    sentences = [*_loss_texts(run, account, evicted, by_itself=by_itself)] or ["No pod was evicted."]
    sentences += [
        *((by_itself_text(run, unattended),) if by_itself and unattended is not None else ()),
        *_cut_short_texts(evicted),
        *grace_texts(run, account),
        *_refusal_texts(run),
        *_outage_texts(run),
        *_kill_texts(run, account),
        *_ran_out_texts(run),
        *relief_texts(run, account),
    ]
    of_host = (
        host_filled_texts(run)
        if by_host and any(each.is_culprit for each in run.world.pods)
        else host_growth_texts(run)
    )
    sentences += [*_stayed_texts(run, account, evicted), *of_host]
    if unattended is not None:
        sentences += [
            *unattended_texts(run, unattended, evicted),
            *cost_texts(run, account, unattended, evicted),
        ]
    return [*sentences, *warnings_text(run)]


def _stayed_texts(run: Run, account: Account, evicted: Sequence[Loss]) -> Iterator[str]:
    """Write which causes were not evicted: those that the kernel killed apart."""
    deleted = {each.pod.full_name for each in run.world.pods if each.deleted_at is not None}
    stayed = account.culprits - account.culprit_gone_at.keys() - deleted
    killed = stayed & {each.event.slot for each in run.happened if isinstance(each.event, OomKill)}
    of_use = [each for each in evicted if not of_no_use(each, run, account)]
    if account.ideal.crossed_at is None:
        stayed &= killed
    exited = _exited(run)
    for name in sorted((stayed - killed) & exited.keys()):
        yield f"{clean(name)}, the cause, was not evicted: it exited by itself at {clock(exited[name])}."
    stayed -= exited.keys() - killed
    for names, was_killed in ((sorted(stayed - killed), False), (sorted(killed), True)):
        if names:
            was, containers = ("was", "its container") if len(names) == 1 else ("were", "their containers")
            what = f"evicted: the kernel killed {containers}, which {was} started again" if was_killed else "ended"
            yield f"{slot_names(names)}, the cause, {was} not {what}{_later(run.world, names, of_use)}."


def _exited(run: Run) -> dict[str, int]:
    """Return when pods exited by themselves of which no successor was started here."""
    found: dict[str, int] = {}
    for each in run.happened:
        match each.event:
            case PodEnd(cause=EndCause.EXITED) as end:
                found[end.slot] = each.at
            case PodArrival() as arrival:
                found.pop(arrival.slot, None)
            case _:
                pass
    return found


def _later(world: World, stayed: Sequence[str], evicted: Sequence[Loss]) -> str:
    """Write that causes that still grow can make other pods the needed ones; empty where no other pod was called needed."""
    if not any(each.verdict is Verdict.NEEDED for each in evicted):
        return ""
    processes = [Process(each.behaviours, each.start) for each in world.pods if each.pod.full_name in stayed]
    if not any(grows_on(each, world, tuple(Usage)) for each in processes):
        return ""
    return "; it goes on, so a longer `duration` can change what was needed"


def _verdict_text(verdict: Verdict, run: Run, account: Account, *, by_itself: bool) -> str:
    if verdict is Verdict.CULPRIT:
        return "the cause"
    if verdict is Verdict.LEAVING:
        return "being deleted already, it only ended earlier"
    if verdict is Verdict.NEEDED:
        return needed_text(run, account, by_itself=by_itself)
    return f"not needed {within_played(run.world)}"


def expectation_texts(played: PlayedWorld) -> list[str]:
    """Write which expectations of a world file are met, in one sentence, and why each other one is not."""
    met = [each.text for each in played.expectations if not each.unmet]
    unmet = [each for each in played.expectations if each.unmet]
    texts = [f"As `expect` in the file says, {clean('; '.join(met))}."] if met else []
    texts += [f"expect.{each.field}: not met: {clean('; '.join(each.unmet))}" for each in unmet]
    return [*texts, *([_FOR_ITS_OWN] if unmet and played.by_another else [])]


# --- what was lost ----------------------------------------------------------------------------------------------------


def of_no_use(loss: Loss, run: Run, account: Account) -> bool:
    """Whether what a pod was evicted for ran out all the same and is short at the end: then its end was not needed for relief."""
    full = {signal.value for signal in Signal if on_its_disk(signal, run.world) in run.ran_out}
    of_pods = loss.verdict in {Verdict.NEEDED, Verdict.INNOCENT}
    return of_pods and loss.cause in full and account.relieved_at is None


def _loss_texts(run: Run, account: Account, evicted: Sequence[Loss], *, by_itself: bool) -> Iterator[str]:
    """Write a sentence for the causes, the needed and the innocent, the first one evicted first.

    A pod that stands for another one has its own.
    """
    groups: dict[str, list[Loss]] = {}
    for loss in sorted(evicted, key=lambda each: each.decided_at):
        if of_no_use(loss, run, account):
            needed = "needed, but" if loss.verdict is Verdict.NEEDED else "not needed, and"
            what = f"{needed} in vain: {loss.cause} ran out all the same"
        elif loss.needed_for:
            what = f"not needed for that, only for {loss.needed_for}, which was not short then"
        else:
            kept = _kept_text(loss, run) if loss.verdict is Verdict.INNOCENT else ""
            verdict = _verdict_text(loss.verdict, run, account, by_itself=by_itself)
            what = f"{verdict}{_instead_text(loss)}{kept}"
        groups.setdefault(what, []).append(loss)
    for what, losses in groups.items():
        yield f"{_evicted_text(losses, run)}: {what}."


def _instead_text(loss: Loss) -> str:
    """Write which pod of the smallest set stayed because of this one; empty where none did."""
    if loss.stands_for:
        return f", in place of {clean(loss.stands_for)}"
    return f": {clean(loss.why)}" if loss.enough else ""


def _kept_text(loss: Loss, run: Run) -> str:
    """Write that only the lead or the minimum reclaim of its threshold made it go; empty where the threshold was crossed."""
    begun = ((cycle, each) for cycle in run.cycles for each in begun_evictions(cycle.step.decisions))
    cycle, because = next(((cycle, each.because) for cycle, each in begun if each.pod.uid == loss.uid), (None, None))
    if cycle is None or because is None or because.limit is None or because.available is None:
        return ""
    if because.threshold is None or because.available < because.limit:
        return ""
    findings = (each for each in cycle.step.findings if isinstance(each, ThresholdFinding))
    if any(each.led for each in findings if each.threshold == because.threshold):
        lead = "memory.lead" if because.threshold.signal in MEMORY_SIGNALS else "disk.lead"
        return f", and only for `{lead}`: the threshold was not crossed"
    return ", and only for the minimum reclaim: the threshold itself was clear"


def _evicted_text(losses: Sequence[Loss], run: Run) -> str:
    """Write which pods were evicted, how often if successors were too, when and for which signals."""
    slots = list(dict.fromkeys(loss.slot for loss in losses))
    verb, again = "was" if len(slots) == 1 else "were", ""
    if len(losses) > len(slots):
        again = f" {len(losses)} times, with {'its' if len(slots) == 1 else 'their'} successors,"
    first, last = clock(losses[0].decided_at), clock(losses[-1].decided_at)
    when = f"at {first}" if first == last else f"from {first} to {last}"
    causes = ", ".join(dict.fromkeys(loss.cause for loss in losses))
    slow = len(losses) == 1 and losses[0].at - losses[0].decided_at >= _SLOW
    gone = f" and gone at {clock(losses[0].at)}{_least_text(losses[0], run)}" if slow else ""
    return f"{slot_names(slots)} {verb} evicted{again} {when} for {causes}{gone}"


def _least_text(loss: Loss, run: Run) -> str:
    """Write the least that was left while a pod ended, also between two readings; empty where the signal was not read."""
    signal = signal_named(loss.cause)
    if signal is None:
        return ""
    if signal in MEMORY_SIGNALS and any(loss.decided_at <= at <= loss.at for at, _ in run.kills):
        return " (nothing was left meanwhile: the kernel killed for want of memory)"
    left = [amount for at, amount in run.while_ending.get(signal, ()) if loss.decided_at <= at < loss.at]
    return f" (at least {signal_amount(min(left), signal)} was left meanwhile)" if left else ""


def _cut_short_texts(evicted: Sequence[Loss]) -> Iterator[str]:
    """Write which pods were killed before the end that they needed."""
    groups: dict[CutShort, list[str]] = {}
    for loss in evicted:
        if loss.cut_short is not None:
            groups.setdefault(loss.cut_short, []).append(loss.slot)
    for cut, found in groups.items():
        slots = list(dict.fromkeys(found))
        was, needs = ("was", "it needs") if len(slots) == 1 else ("were", "they need")
        when = f"after {duration_text(cut.after)}" if cut.after else "at once"
        yield f"{slot_names(slots)} {was} killed {when}; {needs} {duration_text(cut.needs)} to end."


def _refusal_texts(run: Run) -> Iterator[str]:
    names = [clean(each.event.name) for each in run.happened if isinstance(each.event, EvictionRefused)]
    if names:
        yield f"The API server refused evictions {counted(len(names), 'time')}: {slot_names(list(dict.fromkeys(names)))}."
    yield from _past_budget_texts(run)


def _outage_texts(run: Run) -> Iterator[str]:
    """Write of the first soft eviction that an outage of the API server held up, and how many more there were."""
    found: dict[str, tuple[int, Outage]] = {}
    for cycle in run.cycles:
        outage = outage_at(run.world.api_server.outages, cycle.at)
        for each in begun_evictions(cycle.step.decisions):
            if outage is not None and waits_for(outage, run.world.api_server, hard=is_hard(each)):
                found.setdefault(each.pod.full_name, (cycle.at, outage))
    for name, (at, outage) in list(found.items())[:1]:
        how = f"answered with status {outage.status}" if outage.status else "could not be reached"
        more = f", and so did {counted(len(found) - 1, 'more')}" if len(found) > 1 else ""
        yield (
            f"The soft eviction of {clean(name)} waited from {clock(at)} on for the API server, which {how} until "
            f"{clock(outage.start + outage.duration)}{more}."
        )


def _past_budget_texts(run: Run) -> Iterator[str]:
    """Write of the first pod that went after a budget had refused it for long why, and how many more there were."""
    api = run.world.api_server
    if not api.budgets or api.termination is not EvictionMethod.AUTO:
        return
    refused = {(each.at, each.event.uid) for each in run.happened if isinstance(each.event, EvictionRefused)}
    timeout, found = run.config.eviction_timeout, list[tuple[str, int]]()
    for cycle in run.cycles:
        for each in begun_evictions(cycle.step.decisions):
            since = each.refused_since
            past = since is not None and not is_hard(each) and cycle.at - since >= timeout
            if since is not None and past and (cycle.at, each.pod.uid) not in refused:
                found.append((clean(each.pod.full_name), cycle.at - since))
    if found:
        (name, waited), more = found[0], len(found) - 1
        yield past_budget_text(name, waited, timeout)
        if more:
            yield f"{counted(more, 'more pod')} went after such refusals."


def _kill_texts(run: Run, account: Account) -> Iterator[str]:
    own = [
        (each.at, each.event.name) for each in run.happened if isinstance(each.event, OomKill) and each.event.own_limit
    ]
    if own:
        names = list(dict.fromkeys(name for _, name in own))
        at_limit = f"at {'its' if len(names) == 1 else 'their'} own memory limit"
        yield f"The kernel killed {slot_names(names)} {at_limit} {counted(len(own), 'time')}, first at {clock(own[0][0])}."
    if not (killed := run.kills):
        return
    names = list(dict.fromkeys(clean(kill.name) for _, kill in killed))
    innocent = f", {counted(account.innocents_killed, 'innocent')} among them" if account.innocents_killed else ""
    yield (
        f"The kernel killed for want of memory {counted(len(killed), 'time')}, first at {clock(killed[0][0])}: "
        f"{slot_names(names)}{innocent}."
    )
    if not any(each.signal in MEMORY_SIGNALS for each in run.config.thresholds):
        yield "The configuration has no threshold for memory, so evictd does not act on it."


def _ran_out_texts(run: Run) -> Iterator[str]:
    """Write which resource without a threshold ran out, and when."""
    known = {on_its_disk(each.signal, run.world) for each in own_thresholds(run.config)}
    for signal, at in run.ran_out.items():
        if signal not in known:
            yield (
                f"Nothing was left of {signal.value} at {clock(at)}; the configuration has no threshold for it, so evictd does "
                "not act on it."
            )
