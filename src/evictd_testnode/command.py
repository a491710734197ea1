"""Shows on a disposable node under disk pressure what evictd does, for `evictd demo`.

Nothing is installed. Only the plot and evictd's journal remain afterwards.
"""

import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from evictd.clock import boot_clock
from evictd.core.units.duration import SECOND
from evictd.errors import EvictdError, ExitCode
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.screen import (
    Screen,
    TimelineEvent,
    conclusion_lines,
    frame,
    paragraph,
    plot,
    timeline_lines,
    timeline_summary,
)
from evictd_testnode.story import (
    BEGIN,
    DISK_MIB,
    HOG,
    HOG_BEGINS,
    JOBS,
    OTHER_PODS,
    THRESHOLD_MIB,
    DemoNode,
    check_alive,
    demo_node,
    start_evictd,
)
from evictd_testnode.sweep import start_cleanup_process, sweep
from evictd_testnode.tool import run_tool

_STEP_SECONDS = 0.2
_MOST_SECONDS = 100
_CALM_SECONDS = 2.0


def reason_against() -> str:
    """Return why this machine cannot have the node; empty if it can."""
    if os.geteuid() != 0:
        return "a real one needs root: mounts, cgroups, a runtime"
    if "\toverlay\n" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        return "this kernel has no overlayfs"
    try:
        find_binaries(default_cache())
    except EvictdError as error:
        return str(error)
    return ""


def kept_journal(plot_file: Path) -> Path:
    """Return the file that evictd's journal is kept in: beside the plot, with its name."""
    return plot_file.with_suffix(".jsonl")


def run(plot_file: Path) -> tuple[ExitCode, list[str]]:
    """Run the demonstration on a real node; returns the lines that say which pod was evicted, to end the output with."""
    Screen(sys.stdout).write([f" making the node: its own containerd on a disk of {DISK_MIB}Mi, and images for it"])
    sweep()
    start_cleanup_process()
    with demo_node(find_binaries(default_cache())) as node:
        try:
            return _run(node, plot_file)
        except KeyboardInterrupt as interrupt:
            interrupted = interrupt
    Screen(sys.stdout).write(["interrupted; the node was removed"])  # the picture was on a screen that is closed
    raise interrupted


def _run(node: DemoNode, plot_file: Path) -> tuple[ExitCode, list[str]]:
    screen = Screen(sys.stdout)
    events = [BEGIN]
    samples: list[tuple[float, int]] = []
    try:
        relieved = _run_story(node, screen, events, samples)
    finally:
        screen.close()
    screen.write([" replaying and plotting evictd's journal"])
    summary = _summary(events, samples, _draw(node, plot_file), screen)
    screen.write(["", *summary])
    return ExitCode.DONE if relieved else ExitCode.NO, conclusion_lines(events, screen.size.columns)


def _run_story(node: DemoNode, screen: Screen, events: list[TimelineEvent], samples: list[tuple[float, int]]) -> bool:
    """Run the story until the pressure has been gone for `_CALM_SECONDS`; returns False if it is not within `_MOST_SECONDS`."""
    for recipe in (*OTHER_PODS, *JOBS):
        node.run(recipe)
    hog, calm_since = False, None
    start_evictd(node)
    jobs_done, written, begun, seconds = False, 0, boot_clock(), 0.0
    while seconds < _MOST_SECONDS:
        time.sleep(_STEP_SECONDS)
        seconds = (boot_clock() - begun) / SECOND  # a step takes longer than it sleeps
        check_alive(node)
        events += node.new_events(seconds)
        jobs_done = jobs_done or node.finish_jobs()
        if jobs_done and not hog and seconds > 3:
            node.run(HOG)
            hog = True
            events.append(replace(HOG_BEGINS, at=seconds))
        samples.append((seconds, node.free_bytes()))
        screen.draw(frame(node.view(seconds, events), screen.size))
        if not screen.live:
            screen.write([line for event in events[written:] for line in timeline_lines(event, None)])
            written = len(events)
        over = any(event.highlighted for event in events) and not node.pressure()
        calm_since = (calm_since or seconds) if over else None
        if calm_since is not None and seconds - calm_since >= _CALM_SECONDS:
            return True
    return False


def _summary(events: list[TimelineEvent], samples: list[tuple[float, int]], plotted: str, screen: Screen) -> list[str]:
    """Return the final lines: the timeline, the available space over time, and where the plot is."""
    columns, lines = screen.size.columns, []
    if screen.live:
        lines = [*timeline_summary(events, columns), ""]
    lines.append(f" available of {DISK_MIB}Mi (red: near or below the threshold of {THRESHOLD_MIB}Mi)")
    lines += plot(samples, capacity=DISK_MIB << 20, threshold=THRESHOLD_MIB << 20, columns=columns)
    return [*lines, "", *paragraph(plotted, columns)]


def _draw(node: DemoNode, plot_file: Path) -> str:
    """Keep evictd's journal, and replay it into a plot; returns a line with its path, or with the error."""
    try:
        plot_file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(node.journal, kept_journal(plot_file))
        run_tool(sys.executable, "-m", "evictd", "replay", kept_journal(plot_file), "--plot", plot_file.absolute())
    except (EvictdError, OSError) as error:
        return f"no plot: {' '.join(str(error).split())[:80]}"
    return f"evictd's journal, replayed and plotted: {plot_file}"
