"""Plays the incidents of config/incidents under both policies: `python -m tools.incidents` prints what each of them cost.

With `--write` it writes docs/incidents.md. Exit status 1 if an assertion of a file fails that is not marked `fails`, or holds
although it is marked.
"""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evictd.commands.inputs.source import own_config, read_story
from evictd.core.model.config import Policy
from evictd.world.account import Account, account_of
from evictd.world.expectation import unmet
from evictd.world.file import WorldFile
from evictd.world.loop import Run, play
from evictd.world.oracle import ideal_ends

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "config" / "incidents"
PAGE = ROOT / "docs" / "incidents.md"


_INTRODUCTION = """\
What would evictd have done? Each incident is a [world](worlds.md) with the mechanism of a public report. To play one:

    evictd simulate config/incidents/02-host-path-writer.yaml --compare Kubelet

The figures are *regret*: innocent pods lost, evicted or killed by the kernel, beyond those of an observer who knows every byte.
`short`: a threshold is still met at the end. In a `control` the obvious choice is right."""

_NOTES = """\
## 01: why the hog is evicted 117 times

This DaemonSet's pod tolerates every taint (`tolerates: true`); by default [it stays
away](cluster.md#daemonsets-and-evictds-taints), and 3 are evicted. So its controller creates it again after 2 s, and at 1 GiB/s
it takes 5.5 s to fill the node: an eviction each 7.7 s (policy Kubelet: 116). A pause between them would let the OOM killer in,
because only half a second lies between the threshold and the end of memory. With `evictionLimit` as the pause:

| one eviction per | evictions | OOM kills | seconds short |
|---|---|---|---|
| no pause | 117 | 0 | 23 |
| 20 s | 31 | 60 | 308 |
| 1 min | 9 | 36 | 273 |
| 5 min | 3 | 17 | 141 |
| 1 h | 1 | 8 | 71 |

At 100 MiB/s it is evicted 15 times with 0 kills; with one eviction a minute 8 times with 7 kills. Neither loses an innocent
pod. From the third eviction on evictd records `RepeatedEviction` on the DaemonSet, with what the pod used and requested. A
memory limit of the pod ends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One file, played."""

    path: Path
    file: WorldFile
    runs: dict[Policy, Run]
    accounts: dict[Policy, Account]

    @property
    def unmet(self) -> tuple[str, ...]:
        """The assertions that do not hold under policy Standard."""
        expect = self.file.expect
        return () if expect is None else unmet(expect, self.runs[Policy.STANDARD], self.accounts[Policy.STANDARD])

    @property
    def as_marked(self) -> bool:
        """Whether it fails exactly if it is marked to."""
        return bool(self.unmet) == (self.file.expect is not None and self.file.expect.fails)


def read_incident(path: Path) -> WorldFile:
    """Read one file; raises `InputError`."""
    found = read_story(path)
    if not isinstance(found, WorldFile):
        raise TypeError(f"{path}: is no world")
    return found


def play_incident(path: Path, policies: Iterable[Policy] = (Policy.STANDARD, Policy.KUBELET)) -> Incident:
    """Play one file under both policies, or under those given."""
    file = read_incident(path)
    configs = {policy: own_config(file, policy) for policy in policies}
    ideal = ideal_ends(file.world, own_config(file, Policy.STANDARD))
    runs = {policy: play(file.world, config) for policy, config in configs.items()}
    accounts = {policy: account_of(run, ideal) for policy, run in runs.items()}
    return Incident(path=path, file=file, runs=runs, accounts=accounts)


def incident_files() -> list[Path]:
    """List the files in order."""
    return sorted(FOLDER.glob("*.yaml"))


def table(incidents: Iterable[Incident]) -> list[str]:
    """Write one line for each incident and one for the sum."""
    rows, sums = [], dict.fromkeys(Policy, 0)
    for each in incidents:
        cells = []
        for policy, account in each.accounts.items():
            sums[policy] += account.regret
            gone = len(account.culprit_gone_at)
            cells.append(
                f"{account.innocents:>3} +{account.innocents_killed:<3} {gone}/{len(account.culprits)} "
                f"{'yes' if account.relieved_at is not None else 'no':<3}"
            )
        mark = "" if each.as_marked else "  UNEXPECTED: " + ("; ".join(each.unmet) or "every assertion holds")
        marked = "fails " if each.unmet else "passes"
        rows.append(f"{each.path.stem:<40} {'  |  '.join(cells)}  {marked}{mark}")
    head = f"{'':<40} {'Standard':<16}  |  {'Kubelet':<16}"
    names = f"{'incident':<40} {'inn +oom culpr rel':<16} | {'inn +oom culpr rel':<16}"
    total = f"{'regret':<40} {sums[Policy.STANDARD]:<16}  |  {sums[Policy.KUBELET]:<16}"
    return [head, names, *rows, total]


def page(incidents: Iterable[Incident]) -> str:
    """Write docs/incidents.md."""
    lines = [
        "# Incidents",
        "",
        "<!-- Generated by `make incidents`. Do not edit. -->",
        "",
        _INTRODUCTION,
        "",
        "| File, report | What happens | Standard | Kubelet |",
        "|---|---|---|---|",
    ]
    sums = dict.fromkeys(Policy, 0)
    for each in incidents:
        ends = " | ".join(_end(account) for account in each.accounts.values())
        about = " ".join(each.file.world.description.split())
        marked = f" Not as an operator would want it: {'; '.join(each.unmet)}." if each.unmet else ""
        lines.append(f"| {_linked(each)} | {about}{marked} | {ends} |")
        for policy, account in each.accounts.items():
            sums[policy] += account.regret
    lines += [f"| all | | {' | '.join(map(str, sums.values()))} |", "", _NOTES]
    return "\n".join(lines) + "\n"


def _linked(incident: Incident) -> str:
    """Write the name of the file, as a link to its first report."""
    first, *others = (each.replace("#", "/issues/") for each in incident.file.world.source.split(", "))
    more = "".join(f" [too](https://github.com/{each})" for each in others)
    return f"[`{incident.path.stem}`](https://github.com/{first}){more}"


def _end(account: Account) -> str:
    """Write the regret of one run, and whether the node is relieved."""
    return str(account.regret) if account.relieved_at is not None else f"{account.regret}, short"


def main() -> int:
    """Play all incidents, or those named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="instead of all of config/incidents")
    parser.add_argument("--write", action="store_true", help="write docs/incidents.md")
    args = parser.parse_args()
    incidents = [play_incident(path) for path in args.files or incident_files()]
    print("\n".join(table(incidents)))
    if args.write:
        PAGE.write_text(page(incidents))
    return 0 if all(each.as_marked for each in incidents) else 1


if __name__ == "__main__":
    sys.exit(main())
