"""From a file on the command line to a scenario and what its decisions obey.

Scenario files are JSON or YAML, read with the bounds of `config.file`. The configuration is the scenario's own unless `--config`
gives another one; `--policy` overrides either's.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evictd.codec.evictd_config import EvictdConfiguration, decode_evictd, validate_evictd
from evictd.codec.kubelet_config import eviction_config
from evictd.codec.scenario import Scenario, decode_scenario
from evictd.config.file import load, read_documents
from evictd.core.config import EvictionConfig, Policy
from evictd.errors import InputError

MAX_BYTES = 32 << 20
MAX_VALUES = 2_000_000


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--policy` and `--config`."""
    add_policy_argument(parser)
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="decide by this configuration instead of the file's"
    )


def add_policy_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--policy`."""
    parser.add_argument("--policy", choices=[policy.value for policy in Policy], help="decide by this policy")


def read_scenario(path: Path) -> Scenario:
    """Read one scenario; raises `InputError` with every fault, each with the file and the path in it."""
    documents = read_documents(path, max_bytes=MAX_BYTES, max_values=MAX_VALUES)
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        raise InputError(f"{path}: is no scenario; a file holds one, a map with `steps`")
    try:
        return decode_scenario(documents[0])
    except InputError as error:
        raise _in_file(path, error) from error


def scenario_config(scenario: Scenario, path: Path, args: argparse.Namespace) -> EvictionConfig:
    """Make what the decisions obey; raises `InputError`."""
    policy = None if args.policy is None else Policy(args.policy)
    if args.config is not None:
        config = load(Path(args.config)).eviction
        return config if policy is None else replace(config, policy=policy)
    try:
        return own_config(scenario, policy)
    except InputError as error:
        raise _in_file(path, error) from error


def own_config(scenario: Scenario, policy: Policy | None = None) -> EvictionConfig:
    """Make the scenario's own configuration, under another policy if one is given; raises `InputError`."""
    options, problems = decode_evictd(scenario.evictd)
    if problems := [*problems, *validate_evictd(options)]:
        raise InputError(tuple(f"evictd.{problem}" for problem in problems))
    try:
        eviction = eviction_config(scenario.config, policy=policy or options.decision_policy, default_hard=True)
    except InputError as error:
        raise InputError(tuple(f"config.{problem}" for problem in error.problems)) from error
    return with_options(eviction, options)


def with_options(eviction: EvictionConfig, options: EvictdConfiguration) -> EvictionConfig:
    """Add what the core obeys beside the kubelet's own fields."""
    return replace(
        eviction,
        monitoring_period=int(options.housekeeping_interval),
        reclaim_containers=options.reclaim.containers,
        reclaim_images=options.reclaim.images,
        image_gc=replace(eviction.image_gc, keep=options.reclaim.keep_images),
    )


def _in_file(path: Path, error: InputError) -> InputError:
    return InputError(tuple(f"{path}: {problem}" for problem in error.problems))
