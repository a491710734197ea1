"""The advice of `evictd advise` as a picture: for which share of the nodes each threshold and reservation is enough."""

import textwrap
from pathlib import Path
from typing import Any

from evictd.advice.proposal import Advice
from evictd.advice.reservation import Reservation
from evictd.advice.signal_advice import SignalAdvice
from evictd.core.frozen import frozen
from evictd.core.model.signal import SIGNALS, Resource
from evictd.errors import InputError
from evictd.render.advice.advice import basis
from evictd.render.advice.settings import RESERVED_NAMES
from evictd.render.simulation.plot import HARD, INK, LINE, QUIET, SOFT, STYLE
from evictd.render.text import amount_text, counted

_NONE_PROPOSED = "; none proposed"


def draw_advice(advice: Advice, path: Path) -> None:
    """Draw which share of the nodes each threshold and reservation is enough for; SVG or PNG by the file's name."""
    from matplotlib import rc_context  # noqa: PLC0415 - the optional extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    form = path.suffix.removeprefix(".")
    title = f"evictd advise: {basis(advice)}"
    metadata: dict[str, Any] = (
        {"Date": None, "Creator": "evictd", "Title": title} if form == "svg" else {"Software": "evictd"}
    )
    panels = [*map(_signal_panel, advice.signals), *map(_reservation_panel, advice.reserved)]
    with rc_context(STYLE):
        rows = max(1, len(panels))
        figure = Figure(figsize=(8, 0.6 + 2.6 * rows), facecolor="white", layout="constrained")
        figure.suptitle(textwrap.fill(title, _TITLE_COLUMNS), fontsize=12, fontweight="bold", x=0.02, ha="left")
        for index, panel in enumerate(panels):
            _draw_panel(figure.add_subplot(rows, 1, index + 1), panel)
        try:
            figure.savefig(path, format=form, dpi=160, metadata=metadata)
        except OSError as error:
            raise InputError(f"--plot: {path}: {error.strerror or error}") from error


_TITLE_COLUMNS = 84
"""Characters of the title that the width of the figure holds."""


@frozen
class _Panel:
    """One part of the picture: what each node needed, and marked amounts with name and colour."""

    title: str
    axis: str
    resource: Resource
    needs: tuple[int, ...]
    advised: int | None
    """`None` where nothing is proposed."""
    others: tuple[tuple[str, int, str], ...] = ()


def _signal_panel(each: SignalAdvice) -> _Panel:
    found = f"{counted(each.episodes, 'eviction')} on {counted(len(each.needs), 'node')}, {each.too_late} too late"
    now = () if each.now is None else (("now", each.now[1], QUIET),)
    soft = () if each.soft is None or not each.proposed else (("soft", each.soft, SOFT),)
    return _Panel(
        title=f"{each.signal.value}: {found}{_NONE_PROPOSED if not each.proposed else '; kept' if each.keeps else ''}",
        axis="hard threshold that would have been early enough",
        resource=SIGNALS[each.signal].resource,
        needs=each.needs,
        advised=each.hard if each.raised else None,
        others=(*now, *soft),
    )


def _reservation_panel(each: Reservation) -> _Panel:
    return _Panel(
        title=f"{RESERVED_NAMES[each.resource]} outside pods: {counted(len(each.needs), 'node')}"
        f"{_NONE_PROPOSED if not each.proposed else ''}",
        axis="systemReserved and kubeReserved together that would have been enough",
        resource=each.resource,
        needs=each.needs,
        advised=each.amount if each.proposed else None,
    )


def _draw_panel(axes: Any, panel: _Panel) -> None:
    shares = [100 * (index + 1) / len(panel.needs) for index in range(len(panel.needs))]
    axes.step([0, *panel.needs], [0, *shares], where="post", color=LINE, linewidth=1.6)
    right = 1.25 * max(
        panel.advised or 0, panel.needs[-1], *(amount for name, amount, _ in panel.others if name == "now"), 1
    )
    shown = [(name, amount, color) for name, amount, color in panel.others if amount < right]
    if panel.advised is not None:
        shown.insert(0, ("advised", panel.advised, HARD))
    for row, (name, amount, color) in enumerate(shown):
        axes.axvline(amount, color=color, linewidth=1.2, linestyle="solid" if name == "advised" else (0, (4, 2)))
        axes.annotate(
            f"{name} {amount_text(amount, panel.resource)}", (amount, 10 + 15 * row), xytext=(4, 0),
            textcoords="offset points", color=color, fontsize=9, zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    axes.set_xlim(0, right)
    axes.set_ylim(0, 103)
    axes.set_title(panel.title, fontsize=10, loc="left", color=INK)
    axes.set_ylabel("% of nodes", fontsize=8)
    axes.set_xticks(range(0, round(right) + 1, 1 << max(0, round(right).bit_length() - 3)))
    axes.set_xlabel(panel.axis, fontsize=8)
    axes.xaxis.set_major_formatter(lambda amount, _: amount_text(round(amount), panel.resource))
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
