"""The advice of `evictd advise` as fields of a configuration, and as a file of them."""

from evictd.advice.proposal import Advice
from evictd.advice.soft import SOFT_GRACE
from evictd.codec.config import evictd_config, kubelet_fields
from evictd.config.file import dump_yaml
from evictd.core.model.signal import RESOURCES, SIGNALS, Resource, Unit
from evictd.core.units.duration import format_duration
from evictd.core.units.quantity import NANO, Format, Quantity
from evictd.render.advice.missing_lines import some
from evictd.render.advice.settings import RESERVED_NAMES
from evictd.render.documents import Document

_ONLY_ADVISED = (
    "Only what is advised: set these fields in your configuration. Alone they would drop its other fields: thresholds, "
    "`decisionPolicy`."
)
_KI = 1024
_NOTHING_ADVISED = "Nothing is advised: this document sets no field. Keep your configuration."


def configuration(advice: Advice) -> Document:
    """Return the fields of KubeletConfiguration and EvictdConfiguration that are advised."""
    signals = [each for each in advice.signals if each.proposed]
    soft = {each.signal: each.soft for each in signals if each.soft is not None}
    kubelet: Document = {
        "evictionHard": {
            each.signal.value: _exact(each.hard, SIGNALS[each.signal].resource) for each in signals if each.raised
        },
        "evictionSoft": {signal.value: _exact(amount, SIGNALS[signal].resource) for signal, amount in soft.items()},
        "evictionSoftGracePeriod": {signal.value: format_duration(SOFT_GRACE) for signal in soft},
        "evictionMinimumReclaim": {
            each.signal.value: _exact(each.min_reclaim, SIGNALS[each.signal].resource)
            for each in signals
            if each.min_reclaim
        },
    }
    if advice.max_pod_grace_seconds is not None:
        kubelet["evictionMaxPodGracePeriod"] = advice.max_pod_grace_seconds
    kubelet["systemReserved"] = {
        RESERVED_NAMES[each.resource]: _exact(each.amount, each.resource) for each in advice.reserved if each.proposed
    }
    own = {"memory": {"lead": "Auto"}} if advice.lead else {}
    return {"kubelet": {name: value for name, value in kubelet.items() if value}, "evictd": own}


def configuration_text(advice: Advice, evidence: str) -> str:
    """Write the advised fields as a file that `evictd check` accepts, after the evidence as comments.

    Where nothing is advised the document has no fields.
    """
    fields = configuration(advice)
    own = {"apiVersion": evictd_config.API_VERSION, "kind": evictd_config.KIND, **fields["evictd"]}
    documents = [
        {"apiVersion": kubelet_fields.API_VERSION, "kind": kubelet_fields.KIND, **fields["kubelet"]},
        *([own] if fields["evictd"] else []),
    ]
    lowered = {node: None for each in advice.signals if each.raised for node in each.lowers}
    not_for = [f"Not for nodes whose evictionHard it would lower: {some(tuple(lowered))}."] if lowered else []
    lines = [*evidence.splitlines(), "", _ONLY_ADVISED if any(fields.values()) else _NOTHING_ADVISED, *not_for]
    comments = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    return comments + "---\n".join(map(dump_yaml, documents))


def _exact(amount: int, resource: Resource) -> str:
    """Write an amount; bytes in whole Ki, because a percentage of a capacity in single precision has odd ones."""
    if RESOURCES[resource].unit is not Unit.BYTES:
        return str(Quantity(amount * NANO, Format.DECIMAL_SI))
    whole = (amount + _KI // 2) // _KI * _KI if amount >= _KI else amount
    return str(Quantity(whole * NANO, Format.BINARY_SI))
