"""The stories of memory, processes and disks on a real CRI-O whose one store lies on the node's disk."""

import pytest

from tests.e2e.test_disk import (
    test_a_hog_that_hides_beside_empty_folders_goes_and_not_its_small_neighbour,
    test_a_hog_that_hides_in_a_deleted_file_goes_and_not_its_small_neighbour,
    test_disk_runs_out_and_the_pod_that_filled_it_goes,
    test_each_limit_of_local_storage_is_enforced,
    test_removing_dead_containers_is_enough_and_no_pod_is_evicted,
    test_removing_unused_images_is_enough_and_no_pod_is_evicted,
)
from tests.e2e.test_memory_and_pids import (
    test_memory_runs_out_and_priority_decides_who_goes_first,
    test_process_ids_run_out_and_priority_decides_who_goes_first,
)

pytestmark = [pytest.mark.root, pytest.mark.containerd, pytest.mark.crio]

__all__ = [
    "test_a_hog_that_hides_beside_empty_folders_goes_and_not_its_small_neighbour",
    "test_a_hog_that_hides_in_a_deleted_file_goes_and_not_its_small_neighbour",
    "test_disk_runs_out_and_the_pod_that_filled_it_goes",
    "test_each_limit_of_local_storage_is_enforced",
    "test_memory_runs_out_and_priority_decides_who_goes_first",
    "test_process_ids_run_out_and_priority_decides_who_goes_first",
    "test_removing_dead_containers_is_enough_and_no_pod_is_evicted",
    "test_removing_unused_images_is_enough_and_no_pod_is_evicted",
]
