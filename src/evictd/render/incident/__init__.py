"""One eviction as an incident: what filled the node, what came back, and what would have avoided it.

The parts of `evictd incident`, in the order of the output, and the modules that write them:

* what is known, an `Incident` (`incident`), read from the journal by `collect`: `readings`, `aftermath`, `arrivals`, `earlier`
  evictions, `filled`, `journal_end`; the command adds the `verdict` and what `grows_on`;
* "in short" and "now" (`heading`): `summary` and `now`, with `growers`, `held_back`, `outside_pods`;
* who filled what was short, and the chart: `filled`, `view`;
* what came back: `relief`, `back_alone`, then the `verdict`, with `unknown_images` and `outside_pods`;
* what would have avoided it, and what would not have (`avoided`): `avoidance`, with `growers`, `limit_remedy`, `request_remedy`,
  `priority_remedy`, `page_cache`, `soft_threshold`;
* ranking: `view`; before, after and the events written: `events`.

`incident_list` writes `evictd incident` without a pod, `kill_cause` what is known of kills by the kernel.
"""
