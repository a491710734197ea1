"""Arguments that several commands share, and the scenarios and configurations that they name.

Scenario files are JSON or YAML, read with the bounds of `config.file`. The configuration is the scenario's own unless `--config`
gives another one; `--policy` overrides either's.
"""

import argparse
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evictd.codec.config.evictd_config import decode_evictd, validate_evictd
from evictd.codec.config.fields import with_documents
from evictd.codec.config.kubelet_config import decode_kubelet, eviction_config
from evictd.codec.pods.pod_fields import resource_problems, unknown_pod_fields
from evictd.codec.records.journal import KIND as JOURNAL
from evictd.codec.scenario import KIND as SCENARIO
from evictd.codec.scenario import Scenario, decode_scenario
from evictd.codec.world_fields import KIND as WORLD
from evictd.commands.inputs.no_file import is_directory, is_there, refuse_directory, require_writable, with_examples
from evictd.config.build import with_options
from evictd.config.file import documents_of, load, read_text, shown_path
from evictd.config.flags import NO_FLAGS, Flags
from evictd.config.lines import field_lines, line_of
from evictd.config.lint import without_unit
from evictd.config.settings import EvictdConfiguration, KubeletConfiguration, Settings
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD
from evictd.errors import InputError, did_you_mean, missing_package
from evictd.world.behaviours import within_pids
from evictd.world.file import WorldFile, decode_world
from evictd.world.model import World

Story = Scenario | WorldFile
Documents = tuple[KubeletConfiguration, EvictdConfiguration]

MAX_BYTES = 32 << 20
MAX_VALUES = 2_000_000
_EXAMPLES = "examples are in {} of a clone, or in /usr/share/doc/evictd/examples of the package"
_HEAD = 200
"""Characters at the begin of a file in which a journal says that it is one."""

_KINDS = (SCENARIO, WORLD)
"""What a story may be."""
_SAYS_SCENARIO = re.compile(rf"""^\W*kind\W+{SCENARIO}\b|^\W*steps\W*:""", re.MULTILINE)
_SAYS_STORY = re.compile(rf"""^\W*kind\W+{WORLD}\b|{_SAYS_SCENARIO.pattern}""", re.MULTILINE)
_OF_A_WORLD = frozenset({"duration", "node", "owners", "host", "apiServer", "faults", "watch", "seed"})
"""Fields that a world has and a scenario has not."""
_PODS = (
    "give it to `evictd simulate --pods`, with --summary FILE or --prometheus FILE for what the node and its pods use"
)
_CHECK = "`evictd check` reads it, and --config decides by it"
_REMEDIES: Mapping[object, str] = {
    "List": _PODS, "PodList": _PODS, "Pod": _PODS, "KubeletConfiguration": _CHECK, "EvictdConfiguration": _CHECK,
}  # fmt: skip
"""The command to use instead for a file of this kind."""


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--policy` and `--config`."""
    add_policy_argument(parser)
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="decide by this configuration instead of the file's"
    )


def add_policy_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--policy`."""
    names = [policy.value for policy in Policy]
    parser.add_argument("--policy", type=_policy_name, choices=names, help="decide by this policy")


def _policy_name(text: str) -> str:
    """Return the policy of this name in any case, or the text as it is."""
    return next((policy.value for policy in Policy if policy.value.lower() == text.lower()), text)


def add_plot_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--plot`."""
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a picture: FILE.svg or FILE.png")


def check_plot(path: Path | None) -> None:
    """Refuse, before any work is done, a picture that could not be drawn; raises `InputError`."""
    if path is None:
        return
    if path.suffix not in {".svg", ".png"}:
        swallowed = (
            f"; {path} is what is played? Put it before --plot" if path.suffix in {".yaml", ".yml", ".json"} else ""
        )
        raise InputError(f"--plot: {path}: is no picture that can be drawn; give FILE.svg or FILE.png{swallowed}")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(f"--plot: {missing_package('matplotlib', 'plot')}")
    require_writable(path, "--plot")


def report_plot(path: Path) -> None:
    """Say on standard error that a picture was drawn: standard output may be a document."""
    sys.stderr.write(f"evictd: {shown_path(path)}: drawn\n")


def read_scenario(path: Path) -> Scenario:
    """Read one scenario; raises `InputError` with every fault, each with the file and the path in it."""
    found = _read_story(path, _scenario_text(path))
    if isinstance(found, WorldFile):
        raise InputError(f"{shown_path(path)}: kind: {WORLD}: not a scenario; `evictd simulate` plays it")
    return found


def read_story(path: Path) -> Story:
    """Read one scenario or world by its `kind`; raises `InputError` with every fault."""
    return _read_story(path, _story_text(path, _SAYS_STORY, "config/worlds and config/scenarios"))


def _read_story(path: Path, text: str) -> Story:
    if JOURNAL in text[:_HEAD]:
        raise InputError(
            f"{shown_path(path)}: is a journal, no scenario; `evictd replay` decides it again, and `evictd capture "
            "--from-journal` makes a scenario of it"
        )
    documents = documents_of(text, path, max_values=MAX_VALUES)
    kind = documents[0].get("kind") if documents and isinstance(documents[0], Mapping) else None
    if isinstance(kind, str) and kind in _REMEDIES:
        raise InputError(f"{shown_path(path)}: kind: {kind}: not a scenario; {_REMEDIES[kind]}")
    if isinstance(kind, str) and kind not in _KINDS:
        meant = did_you_mean(kind, _KINDS) or f"give {' or '.join(_KINDS)}"
        raise InputError(f"{shown_path(path)}: kind: {kind}: is neither a scenario nor a world; {meant}")
    if kind is None and documents and isinstance(documents[0], Mapping) and _OF_A_WORLD & documents[0].keys():
        raise InputError(f"{shown_path(path)}: kind: is missing; a world has `kind: {WORLD}`")
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        amount = f"holds {len(documents)} documents" if len(documents) > 1 else "is no map" if documents else "is empty"
        raise InputError(
            f"{shown_path(path)}: {amount}; a file holds one scenario, a map with `steps`, or one world, a map with "
            f"`kind: {WORLD}`"
        )
    try:
        if kind == WORLD:
            return decode_world(documents[0])
        scenario = _decoded_scenario(documents[0])
    except InputError as error:
        raise _in_file(path, error, field_lines(text)) from error
    for problem in unknown_pod_fields(documents[0]):
        sys.stderr.write(f"evictd: {shown_path(path)}: {problem} (skipped, as the API server does)\n")
    return scenario


def _scenario_text(path: Path) -> str:
    return _story_text(path, _SAYS_SCENARIO, "config/scenarios")


def _story_text(path: Path, says: re.Pattern[str], folders: str) -> str:
    """Read a file; a directory is answered with its files that say what is meant, one that is not there with the examples."""
    examples = _EXAMPLES.format(folders)
    refuse_directory(path, partial(_says, says), examples)
    try:
        return read_text(path, max_bytes=MAX_BYTES)
    except InputError as error:
        raise with_examples(error, path, examples) from error


def _says(what: re.Pattern[str], path: Path) -> bool:
    """Whether a file says that it is a scenario, or a world."""
    try:
        return bool(what.search(read_text(path, max_bytes=MAX_BYTES)))
    except InputError:
        return False


def _decoded_scenario(document: Mapping[str, Any]) -> Scenario:
    scenario = decode_scenario(document)
    if problems := tuple(resource_problems(scenario.pods)):
        raise InputError(problems)
    return scenario


def scenario_config(scenario: Story, path: Path, args: argparse.Namespace) -> EvictionConfig:
    """Make the configuration of the decisions over a scenario or a world; raises `InputError`."""
    return _scenario_config(scenario, path, args.policy, _loaded(args.config))


def load_to_play(path: Path | None, flags: Flags = NO_FLAGS) -> Settings:
    """Return the configuration to decide by; raises `InputError`, also for what the daemon only warns of.

    That is a misspelt field, and in a file an amount of a few bytes, which `check` calls an error too. Else the decisions
    would be those of another configuration. Other unknown fields are warned of: a newer kubelet may know them.
    """
    if path is not None:
        _refuse_story(
            path,
            "--config",
            "give a KubeletConfiguration or EvictdConfiguration; `evictd simulate FILE` plays this file",
        )
    settings = load(path, flags)
    wrong = [str(each) for each in settings.unknown_fields if each.misspelt]
    if path is not None:
        wrong += [f"{shown_path(path)}: {each}" for each in _without_unit(settings)]
    if wrong:
        raise InputError(tuple(wrong))
    for each in settings.unknown_fields:
        sys.stderr.write(f"evictd: {each}\n")
    return settings


def _without_unit(settings: Settings) -> Iterator[str]:
    """Yield the thresholds of a few bytes, with what was meant."""
    for threshold in settings.eviction.thresholds:
        for found in without_unit([threshold]):
            yield f"{threshold.signal.value}: {found.message}; {found.remedy}"


def _refuse_story(path: Path, option: str, remedy: str) -> None:
    """Refuse a scenario or a world as a configuration; raises `InputError`."""
    if (
        is_there(path)
        and not is_directory(path)
        and (kind := _kind(read_text(path, max_bytes=MAX_BYTES), path)) in _KINDS
    ):
        raise InputError(f"{option}: {shown_path(path)}: is a {str(kind).lower()}; {remedy}")


def _loaded(path: Path | None) -> Settings | None:
    return None if path is None else load_to_play(Path(path))


def _scenario_config(scenario: Story, path: Path, policy_name: str | None, given: Settings | None) -> EvictionConfig:
    policy = None if policy_name is None else Policy(policy_name)
    if given is not None:
        config = _config_of(given, scenario)
        return config if policy is None else replace(config, policy=policy)
    try:
        return own_config(scenario, policy)
    except InputError as error:
        raise _in_file(path, error) from error


def configuration_name(config: EvictionConfig, args: argparse.Namespace) -> str:
    """Return what decides: the file of `--config`, and the policy where that is given or there is no such file."""
    policy = f"policy {config.policy.value}"
    if args.config is None:
        return policy
    return str(args.config) if args.policy is None else f"{args.config}, {policy}"


def compared_config(scenario: Story, path: Path, args: argparse.Namespace) -> tuple[str, EvictionConfig]:
    """Return name and configuration of `--compare`: a file's, or the same one decided by the policy that is named."""
    name, _, config = _compared(scenario, path, args, _loaded(args.config))
    return name, config


def world_sides(
    file: WorldFile, path: Path, args: argparse.Namespace
) -> list[tuple[str, World, EvictionConfig, Documents]]:
    """Return name, world, configuration and its documents of each side; raises `InputError`. A file is read once."""
    given = _loaded(args.config)
    config = _scenario_config(file, path, args.policy, given)
    sides = [(configuration_name(config, args), world_under(file, given), config, _documents(file, given))]
    if args.compare is not None:
        name, other, config = _compared(file, path, args, given)
        sides.append((name, world_under(file, other), config, _documents(file, other)))
    return sides


def _documents(file: WorldFile, settings: Settings | None) -> Documents:
    """Return the documents of the settings, or where there are none those of the file."""
    if settings is None:
        return decode_kubelet(file.config)[0], decode_evictd(file.evictd)[0]
    return settings.kubelet, settings.evictd


def _compared(
    scenario: Story, path: Path, args: argparse.Namespace, given: Settings | None
) -> tuple[str, Settings | None, EvictionConfig]:
    """Return name, settings and configuration of `--compare`; `given` are the settings of `--config`."""
    name, policies = _compared_name(args.compare), [policy.value for policy in Policy]
    if name not in policies and not is_there(args.compare) and not args.compare.suffix:
        meant = did_you_mean(name.capitalize(), policies) or f"give a file or a policy: {' or '.join(policies)}"
        raise InputError(f"--compare: {name}: is no file and no policy; {meant}")
    if name in policies:
        same = argparse.Namespace(config=args.config, policy=name)
        config = _scenario_config(scenario, path, name, given)
        return configuration_name(config, same), given, config
    _refuse_story(
        args.compare, "--compare", f"give a configuration, as for --config, or a policy: {' or '.join(policies)}"
    )
    other = load_to_play(args.compare)
    return name, other, _config_of(other, scenario)


def _config_of(settings: Settings, scenario: Story) -> EvictionConfig:
    return in_cluster_of(settings, with_documents(EvictionConfig(), decode_evictd(scenario.evictd)[0]))


def in_cluster_of(settings: Settings, recorded: EvictionConfig) -> EvictionConfig:
    """Return the core's configuration; what one of thresholds alone does not say of its cluster is as recorded or described.

    That is `evictionTimeout`, `podTermination` and the taints. A file that names its API server says it all, or has defaults.
    """
    cluster, config, written = settings.evictd.cluster, settings.eviction, settings.written.cluster
    if not cluster.standalone:
        return config
    if "evictionTimeout" not in written:
        config = replace(config, eviction_timeout=recorded.eviction_timeout)
    if "podTermination" not in written:
        config = replace(config, pod_termination=recorded.pod_termination)
    return replace(config, keep_away=recorded.keep_away and cluster.taints)


def _compared_name(compare: Path) -> str:
    """Return what `--compare` names: a policy in any case, or a file."""
    return str(compare) if is_there(compare) else _policy_name(str(compare))


def world_under(file: WorldFile, settings: Settings | None) -> World:
    """Return the world in which pods end, and have PIDs, as these settings say; where they do not, as in `in_cluster_of`."""
    world = _with_pids_limit(file, settings)
    if settings is None or (settings.evictd.cluster.standalone and "podTermination" not in settings.written.cluster):
        return world
    api = replace(world.api_server, termination=settings.evictd.cluster.pod_termination)
    return replace(world, api_server=api)


def _with_pids_limit(file: WorldFile, settings: Settings | None) -> World:
    """Return the world with the kubelet's `podPidsLimit`: of the settings, or where they do not set it of the file."""
    limit = decode_kubelet(file.config)[0].pod_pids_limit
    if settings is not None and "podPidsLimit" in settings.written.kubelet:
        limit = settings.kubelet.pod_pids_limit
    if limit <= 0:
        return file.world
    pods = (replace(each, behaviours=within_pids(each.behaviours, limit)) for each in file.world.pods)
    return replace(file.world, pods=tuple(pods))


def _kind(text: str, path: Path) -> object:
    """Return the `kind` of the first document of a file; `None` where it has none or is not understood."""
    try:
        documents = documents_of(text, path, max_values=MAX_VALUES)
    except InputError:
        return None
    return documents[0].get("kind") if documents and isinstance(documents[0], Mapping) else None


def own_config(scenario: Story, policy: Policy | None = None) -> EvictionConfig:
    """Make the file's own configuration, under another policy if one is given; raises `InputError`."""
    options, problems = decode_evictd(scenario.evictd)
    if problems := [*problems, *validate_evictd(options)]:
        raise InputError(tuple(f"evictd.{problem}" for problem in problems))
    policy = policy or options.decision_policy
    try:
        eviction = eviction_config(scenario.config, policy=policy)
    except InputError as error:
        raise InputError(tuple(f"config.{problem}" for problem in error.problems)) from error
    return replace(with_options(eviction, options), policy=policy)  # the file's own policy is one of its options


def _in_file(path: Path, error: InputError, lines: Mapping[str, int] | None = None) -> InputError:
    """Return faults with the name of the file, and with the lines of the fields that they begin with."""
    places = [(problem, line_of(problem.partition(": ")[0], lines or {})) for problem in error.problems]
    named = (problem if line is None else f"line {line}: {problem}" for problem, line in places)
    return InputError(tuple(f"{shown_path(path)}: {problem}" for problem in named))


def default_settings(flags: Flags) -> Settings:
    """Return the settings of these flags without a file, with the kubelet's default thresholds."""
    # As if they were given, or the settings would warn of missing thresholds; `check` shows them as defaults all the same.
    settings = load(None, replace(flags, kubelet={**flags.kubelet, "eviction_hard": DEFAULT_EVICTION_HARD}))
    default = eviction_config({}, policy=settings.eviction.policy)
    return replace(settings, eviction=replace(settings.eviction, thresholds=default.thresholds))
