"""Images in use, on every available version of containerd."""

import pytest

from evictd.clients.cri.image_use import ImageUse, _text
from evictd.demo.images import PAUSE
from evictd.demo.node import DisposableNode
from evictd.demo.pods import PodRecipe
from evictd.errors import RuntimeNotFoundError, RuntimeUnavailableError


@pytest.mark.root
@pytest.mark.containerd
def test_the_runtime_names_its_sandbox_image(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="web"))
    use = ImageUse(each_node.endpoint)
    try:
        assert use.sandbox_image() == PAUSE
        assert use.image_of_sandbox(pod.sandbox_id) == PAUSE
        assert use.mounted_images(pod.container_id) == frozenset()
        with pytest.raises(RuntimeNotFoundError):
            use.mounted_images("0" * 64)
    finally:
        use.close()


def test_a_runtime_that_is_away_is_unavailable() -> None:
    with pytest.raises(RuntimeUnavailableError):
        ImageUse("unix:///nonexistent/runtime.sock").sandbox_image()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"image": 5}', '{"other": "x"}', "[" * 100_000])
def test_a_verbose_response_of_another_form_is_empty(text: str) -> None:
    assert _text({"info": text}, "info", "image") == ""
    assert _text({}, "info", "image") == ""
