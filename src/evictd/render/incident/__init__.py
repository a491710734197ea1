"""One eviction as an incident: what filled the node, what came back, and what would have avoided it.

The parts of `evictd incident`, in the order of the output, and the modules that write them:

* what is known (package `record`): an `Incident` (`incident`), read from the journal by `collect`: `readings`, `aftermath`,
  `arrivals`, `earlier` evictions, `filled`, `journal_end`; the command adds the `verdict` and what `grows_on`;
* "in short" and "now" (`heading`): `summary` and `remedy.now`, with `cause.growers`, `cause.came_back`, `remedy.held_back`,
  `remedy.on_host`, `cause.outside_pods`;
* who filled what was short, and the chart: `record.filled`, `view`;
* what came back (package `relief`): `relief`, `back_alone`, then the verdict, with `cause.unknown_images` and
  `cause.outside_pods`;
* what would have avoided it, and what would not have (package `remedy`): `avoidance` of the parts `limit_remedy`,
  `shared_limits`, `request_remedy`, `priority_remedy` and `soft_threshold`, with `cause.growers` and `cause.page_cache`;
* ranking: `view`; before, after and the events written: `events`.

`incident_list` writes `evictd incident` without a pod, `cause.kill_lines` what
`cause.kill_cause` knows of kills by the kernel.
"""
