"""Says who filled what is short when the node reports a condition, from the holders that the journal keeps at that time.

An eviction has this in its findings. Where the deletion of images is enough no pod is evicted, and no finding has it. Where the
grace period of a soft threshold is not over, no pod is evicted yet.
"""

from collections.abc import Iterator, Mapping

from evictd.codec.records.journal_record import JournalRecord, RecordedHoldings, RecordedLevel
from evictd.codec.times import parse_time
from evictd.core.model.attribution import Attribution, Share, growth_began
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, Resource, Signal, signal_named
from evictd.core.units.duration import SECOND, format_duration
from evictd.errors import InvalidValueError
from evictd.render.attribution import filled_sentence
from evictd.render.history.cause.recorded import threshold_signal
from evictd.render.text import amount_text, capital, clean


def filled_at_begin(record: JournalRecord) -> str:
    """Return who filled the supply of a threshold that is met, in about the minute before; empty where that is not known.

    Where the grace period of a soft threshold is not over, that is said, with the pod that holds most memory.
    """
    try:
        texts = (filled_sentence(held, parse_time(record.wall)) for held in held_at_begin(record))
        filled = next(filter(None, texts), "")
    except InvalidValueError:  # a damaged time
        filled = ""
    soft = soft_met_text(record)
    sentences = (filled, _most_held(record) if soft else "", f"{capital(soft)}." if soft else "")
    return " ".join(filter(None, sentences))


def _most_held(record: JournalRecord) -> str:
    """Write which pod holds most memory where that is short; empty where that is not known."""
    names = {each.metadata.uid: clean(each.full_name) for each in record.observation.pods}
    used = {uid: amount for uid, amount in record.observation.memory.items() if uid in names}
    uid = max(used, key=lambda each: used[each], default="")
    if not used.get(uid) or not _met(record) & MEMORY_SIGNALS:
        return ""
    return f"{names[uid]} held most, {amount_text(used[uid], Resource.MEMORY)}."


def held_at_begin(record: JournalRecord) -> Iterator[Attribution]:
    """Yield who filled each supply of a threshold that is met, in about the minute before; nothing where that is not known."""
    met = _met(record)
    resources = {SIGNALS[each].resource for each in met}
    supplies = {signal: held for name, held in record.holdings.items() if (signal := signal_named(name)) is not None}
    of_met = [each for each in supplies if each in met]
    short = of_met or [each for each in supplies if SIGNALS[each].resource in resources]
    yield from (_attribution(record, each, _with_reading(record, each, supplies[each])) for each in short)


def _met(record: JournalRecord) -> set[Signal]:
    return {signal for each in record.findings if each.get("met") and (signal := threshold_signal(each)) is not None}


def _with_reading(record: JournalRecord, signal: Signal, held: RecordedHoldings) -> RecordedHoldings:
    """Return the holdings with what the cycle itself measured of memory: a pod may have taken all of it since the one before."""
    read, summary = record.observation.memory, record.observation.summary
    if signal not in MEMORY_SIGNALS or not read:
        return held
    used = {uid: read.get(uid, amount) for uid, amount in held.used.items()}
    node = None if summary is None else summary.node.memory
    others = held.unmeasured is not None or record.state.in_flight or held.used.keys() != read.keys()
    whole = None if others or node is None else node.working_set_bytes
    return held.read_again(used, None if whole is None else whole - sum(used.values()))


def _attribution(record: JournalRecord, signal: Signal, held: RecordedHoldings) -> Attribution:
    grown = {uid: used - held.lowest_of_both(uid) for uid, used in held.used.items()}
    uid = max(grown, key=lambda each: grown[each], default="")
    names = {each.metadata.uid: each.full_name for each in record.observation.pods}
    nothing, pods = Share(held=0), Share(held=sum(held.used.values()), grown=sum(grown.values()), pods=len(grown))
    return Attribution(
        signal=signal,
        used=sum(held.used.values()),
        over=record.now - _begin(held, grown),
        evictable=pods,
        protected=nothing,
        leaving=nothing,
        unmeasured=_share(held.unmeasured),
        elsewhere=_share(held.elsewhere),
        grower=names.get(uid, "") if grown.get(uid, 0) > 0 else "",
        grower_grown=max(grown.get(uid, 0), 0),
    )


def _begin(held: RecordedHoldings, grown: Mapping[str, int]) -> int:
    levels = [each for each in (held.unmeasured, held.elsewhere) if each is not None]
    of_pods = ((amount, held.arrived.get(uid, held.since)) for uid, amount in grown.items())
    began = growth_began((*of_pods, *((each.used - each.lowest_of_both, each.since) for each in levels)))
    return min([held.since, *(each.since for each in levels)]) if began is None else began


def _share(level: RecordedLevel | None) -> Share:
    return Share(held=None) if level is None else Share(held=level.used, grown=level.used - level.lowest_of_both)


def soft_met_text(record: JournalRecord) -> str:
    """Write which soft thresholds are met in a record while their grace period goes on, as a clause.

    Empty where none is, and where another threshold is met without one.
    """
    return "; ".join(_clauses(record))


def _clauses(record: JournalRecord) -> Iterator[str]:
    if any(each.get("met") and each.get("graceLeftNanoseconds") == 0 for each in record.findings):
        return  # another threshold is short now
    for each in record.findings:
        left = each.get("graceLeftNanoseconds")
        if not each.get("met") or not isinstance(left, int) or left <= 0:
            continue
        if (signal := threshold_signal(each)) is not None:
            rest = format_duration(max(left // SECOND, 1) * SECOND)
            met = f"the soft threshold of {signal.value} was met with {rest} of its grace period left then"
            yield f"{met}, so no pod had to go yet"
