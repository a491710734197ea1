"""Says of a world what a part of the host took of memory, where a threshold for memory was met."""

from collections.abc import Iterator

from evictd.core.model.signal import MEMORY_SIGNALS
from evictd.core.units.approximate import bytes_text
from evictd.render.text import clean
from evictd.world.behaviours import Grow, Usage
from evictd.world.loop import Run
from evictd.world.process import Process
from evictd.world.tested import cycles_with_thresholds


def host_growth_texts(run: Run) -> Iterator[str]:
    """Write which part of the host took more and more memory; nothing where a pod is the cause or memory was never short."""
    short = any(
        each.met and each.threshold.signal in MEMORY_SIGNALS
        for _, tested in cycles_with_thresholds(run)
        for each in tested
    )
    if not short or any(each.is_culprit for each in run.world.pods):
        return
    killed = {kill.name for _, kill in run.kills}
    for part in run.world.host:
        grows = [each for each in part.behaviours if isinstance(each, Grow) and each.of is Usage.MEMORY]
        if part.name in killed or not any(each.bound is None for each in grows):
            continue
        took = Process(grows, run.world.begin).held(run.world.duration).get(Usage.MEMORY, 0)
        took = min(took, run.world.node.memory + run.world.node.swap)
        if took:
            yield f"{clean(part.name)}, outside pods, took {bytes_text(took)} of memory; evictions do not end it."
