"""Warns of thresholds that a world judges otherwise than a real node would."""

from collections.abc import Iterator

from evictd.config.kernel_share import below_kernel_share
from evictd.core.model.config import memory_formula, own_thresholds
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import SIGNALS
from evictd.core.model.threshold import Origin
from evictd.core.units.approximate import bytes_text
from evictd.render.text import clean, signal_quantity
from evictd.world.loop import Run


def warnings_text(run: Run) -> Iterator[str]:
    """Write which thresholds the kernel would forestall on a real node, and which ones are met at any time."""
    yield from _kernel_texts(run)
    yield from _capacity_texts(run)


def _kernel_texts(run: Run) -> Iterator[str]:
    node = run.world.node
    if node.unusable_memory:
        return
    for threshold in own_thresholds(run.config):
        share = below_kernel_share(threshold, memory_formula(run.config), node.memory)
        if share is not None:
            yield (
                f"Warning: on a real node of {bytes_text(node.memory)} the OOM killer can act before {clean(str(threshold))} is "
                f"met, as {share.text} that no process can allocate count as available (docs/tuning.md); this world has "
                "none of it: set `node.unusableMemory`."
            )


def _capacity_texts(run: Run) -> Iterator[str]:
    seen = set[str]()
    for finding in (each for cycle in run.cycles for each in cycle.step.findings):
        if not isinstance(finding, ThresholdFinding) or finding.threshold.origin is Origin.DERIVED:
            continue
        name = clean(str(finding.threshold))
        if SIGNALS[finding.threshold.signal].own or name in seen:
            continue
        seen.add(name)
        if finding.limit >= finding.capacity:
            whole = signal_quantity(finding.capacity, finding.threshold.signal)
            yield f"Warning: {name} is not below the node's {whole}, so it is always met."
