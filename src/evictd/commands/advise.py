"""`evictd advise PATH...`: which thresholds and reservations would have been early enough and no earlier.

Reads journals and captures: files, the folder of a node, or a folder with one folder or file for each node of a fleet. Nodes are
read in parallel processes, or with `--dask` by the workers of an existing Dask cluster, which have to see the same paths.
"""

import argparse
import importlib
import importlib.util
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from evictd.advice.episode import Episode
from evictd.advice.evidence import NodeEvidence, node_evidence
from evictd.advice.missing import recorded_first_to_go
from evictd.advice.proposal import advise
from evictd.codec.records.journal import encode_entry
from evictd.codec.records.reading_record import RecordedCycle, decode_reading
from evictd.commands.inputs.journals import journal_files_in, read_lines
from evictd.commands.inputs.no_file import is_directory
from evictd.commands.inputs.source import add_plot_argument, check_plot, own_config, read_scenario, report_plot
from evictd.config.file import shown_path
from evictd.core.model.finding import RankedPod
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.model.state import State
from evictd.core.units.duration import format_duration
from evictd.errors import EvictdError, ExitCode, InputError, missing_package
from evictd.render.advice.advice import advice_document, print_advice
from evictd.render.advice.configuration import configuration_text
from evictd.render.advice.picture import draw_advice
from evictd.render.console import make_console, progress
from evictd.render.output import JSON, TABLE, add_output_argument, write_document
from evictd.render.text import clean, counted, first_of
from evictd.simulation import simulate

Source = tuple[str, tuple[Path, ...]]
"""A node's name and its files, oldest first."""
_CAPTURES = {".yaml", ".yml", ".json"}
_OF_THE_DAEMON = {"state.json", "conditions.json", "pods.json"}
"""Files of a stateDirectory beside the journal, which are no captures."""
_CHUNK = 4
"""Nodes that a process is given at once."""
_DASK_CHUNK = 25
"""The most nodes in a task of Dask, whose scheduler needs about as long for a task as a worker for a node (10 ms)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "path", nargs="+", type=Path, metavar="PATH", help="journals and captures: files, or folders of nodes"
    )
    parser.add_argument(
        "--cover", type=_percent, default=99, metavar="PERCENT",
        help="share of the nodes for which the values must be enough (default 99)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="processes (default: one for each CPU)",
    )
    parser.add_argument("--dask", metavar="ADDRESS", help="an existing Dask cluster, such as tcp://10.0.0.1:8786")
    add_plot_argument(parser)
    add_output_argument(parser, note="; yaml: a configuration, with the evidence as comments")


def run(args: argparse.Namespace) -> ExitCode:
    """Read every node, then write the advice."""
    check_plot(args.plot)
    sources = find_nodes(args.path)
    found = _by_dask(args.dask, sources) if args.dask is not None else _by_processes(args.jobs, sources)
    nodes = sorted(progress(found, len(sources), sys.stderr), key=lambda each: each.node)
    nodes = _with_copies_named(nodes)
    advice = advise(nodes, args.cover)
    if not advice.readings:
        empty = f"{shown_path(sources[0][1][0])}: there is no journal entry in it; name a journal that evictd has written to"
        raise InputError(next((problem for node in nodes for problem in node.problems), empty))
    if args.plot is not None:
        draw_advice(advice, args.plot)
        report_plot(args.plot)
    if args.output == TABLE:
        print_advice(advice, make_console(sys.stdout))
    elif args.output == JSON:
        write_document(advice_document(advice), args.output, sys.stdout)
    else:
        evidence = io.StringIO()
        print_advice(advice, make_console(evidence))
        sys.stdout.write(configuration_text(advice, evidence.getvalue()))
    return ExitCode.DONE


def _percent(text: str) -> int:
    if text not in map(str, range(1, 101)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 1 to 100")
    return int(text)


def find_nodes(paths: Iterable[Path]) -> list[Source]:
    """Find the nodes below the paths; raises `InputError` where there are none."""
    sources: list[Source] = []
    for path in paths:
        if not is_directory(path):
            sources.append((path.stem, (path,)))
            continue
        for folder, folders, files in os.walk(path):
            folders.sort()
            here = Path(folder)
            if journal := journal_files_in(here):
                sources.append((str(here.relative_to(path)) if here != path else here.name, tuple(journal)))
            others = (here / name for name in sorted(files))
            others = (each for each in others if each not in journal and each.suffix in {".jsonl", *_CAPTURES})
            others = (each for each in others if each.name not in _OF_THE_DAEMON)
            sources += [(str(each.relative_to(path).with_suffix("")), (each,)) for each in others]
    if not sources:
        raise InputError(f"{shown_path(next(iter(paths)))}: there is no journal and no capture below it")
    return _apart(sources)


def _apart(sources: Iterable[Source]) -> list[Source]:
    """Leave out files that were given twice, and name nodes of the same name by their paths: evidence is kept by name."""
    seen: set[Path] = set()
    found: list[Source] = []
    for source in sorted(sources, key=lambda each: (-len(each[1]), -len(each[0]), each[0])):
        files = {path.absolute() for path in source[1]}
        if not files <= seen:
            found.append(source)
        seen |= files
    longer: tuple[Callable[[Path], Path], ...] = (Path, Path.absolute)
    for path_of in longer:
        names = Counter(name for name, _ in found)
        found = [(name if names[name] == 1 else str(path_of(_place(files))), files) for name, files in found]
    return found


def _place(files: tuple[Path, ...]) -> Path:
    """Return the folder of a node's journal, or the file of one that is named by its file."""
    return files[0].parent if files[0] in journal_files_in(files[0].parent) else files[0]


def _with_copies_named(nodes: Iterable[NodeEvidence]) -> list[NodeEvidence]:
    """Add a problem to each node that has an eviction in common with another one of its name, as a copy of a journal has."""
    first: dict[tuple[str, Episode], str] = {}
    found: list[NodeEvidence] = []
    for node in nodes:
        name = Path(node.node).name
        shared = Counter(first.setdefault((name, replace(each, node="")), node.node) for each in node.episodes)
        del shared[node.node]
        problems = (
            f"has {counted(count, 'eviction')} in common with {other}, counted twice; of a journal and its copy give only one"
            for other, count in shared.items()
        )
        found.append(replace(node, problems=(*node.problems, *problems)))
    return found


def _by_processes(asked: int | None, sources: Sequence[Source]) -> Iterator[NodeEvidence]:
    jobs = len(os.sched_getaffinity(0)) if asked is None else asked
    if jobs <= 1 or len(sources) == 1:
        yield from map(evidence_of, sources)
        return
    with ProcessPoolExecutor(min(jobs, len(sources))) as pool:
        yield from pool.map(evidence_of, sources, chunksize=_CHUNK)


def _by_dask(address: str, sources: Sequence[Source]) -> Iterator[NodeEvidence]:
    if importlib.util.find_spec("distributed") is None:
        raise InputError(f"--dask: {missing_package('distributed', 'fleet')}")
    distributed: Any = importlib.import_module("distributed")  # the optional extra
    try:
        client = distributed.Client(address, timeout=30)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask: {address}: {error}") from error
    with client:
        absolute = [(name, tuple(path.absolute() for path in files)) for name, files in sources]
        threads = sum(client.nthreads().values())
        size = max(1, min(_DASK_CHUNK, len(absolute) // max(1, 4 * threads)))
        tasks = [absolute[first : first + size] for first in range(0, len(absolute), size)]
        futures = client.map(_evidence_of_each, tasks, pure=False)
        for _, found in distributed.as_completed(futures, with_results=True):
            yield from found


def _evidence_of_each(sources: Sequence[Source]) -> list[NodeEvidence]:
    return [evidence_of(source) for source in sources]


def evidence_of(source: Source) -> NodeEvidence:
    """Read one node; a failure becomes a problem of the node, so that the other nodes are read too."""
    name, files = source
    try:
        if files[0].suffix in _CAPTURES:
            return node_evidence(name, list(_readings_of_capture(files[0])))
        readings, problems = read_lines(files, decode_reading)
        problems += _of_several_nodes(readings)
    except EvictdError as error:
        return NodeEvidence(node=name, problems=(str(error),))
    return _with_first_to_go(node_evidence(name, readings, problems), files)


def _of_several_nodes(readings: Iterable[RecordedCycle]) -> Iterator[str]:
    """Yield that readings are of several nodes, whose amounts do not follow one another."""
    names = sorted({clean(each.node) for each in readings if each.node})
    if len(names) > 1:
        yield f"has readings of {counted(len(names), 'node')} ({first_of(names)}), which count as one; give a file of each"


def _with_first_to_go(evidence: NodeEvidence, files: tuple[Path, ...]) -> NodeEvidence:
    """Add which pod a missing threshold of memory would have evicted first: the line of that reading is read once more, whole."""
    asked = [each for each in evidence.uncovered if each.signal in MEMORY_SIGNALS and each.first_met]
    if not asked:
        return evidence
    found: dict[Signal, RankedPod | None] = {}
    calm: bytes | None = None

    def read(line: bytes) -> None:
        nonlocal calm
        reading = decode_reading(line)
        for each in asked:
            if each.signal not in found and reading.wall == each.first_met:
                found[each.signal] = recorded_first_to_go(line, each, calm)
        if not reading.killed:
            calm = line

    with suppress(InputError):  # each line of it is damaged elsewhere
        read_lines(files, read)
    return replace(
        evidence,
        uncovered=tuple(replace(each, goes_first=found.get(each.signal)) for each in evidence.uncovered),
    )


def _readings_of_capture(path: Path) -> Iterator[RecordedCycle]:
    """Decide a capture by its own configuration, and read what the journal of it would be."""
    scenario = read_scenario(path)
    config, state = own_config(scenario), State()
    for cycle in simulate(scenario, config):
        for turn in cycle.turns:
            line = encode_entry(
                now=cycle.at,
                wall=format_duration(cycle.at),
                state=state,
                observation=turn.observation,
                config=config,
                step=turn.step,
            )
            yield decode_reading(line)
