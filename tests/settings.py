"""Makes settings from a few fields of either document."""

from typing import Any

import msgspec

from evictd.config.settings import EvictdConfiguration, KubeletConfiguration, Settings
from evictd.config.written import Written
from evictd.core.model.config import EvictionConfig


def settings_with(
    eviction: EvictionConfig | None = None,
    *,
    base: Settings | None = None,
    written: Written | None = None,
    **fields: Any,
) -> Settings:
    """Settings with these fields, by their attributes in the documents; a field of both is evictd's."""
    base = Settings() if base is None else base
    own = {name: value for name, value in fields.items() if name in EvictdConfiguration.__struct_fields__}
    kubelet = {name: value for name, value in fields.items() if name not in own}
    assert set(kubelet) <= set(KubeletConfiguration.__struct_fields__)
    return Settings(
        eviction=base.eviction if eviction is None else eviction,
        evictd=msgspec.structs.replace(base.evictd, **own),
        kubelet=msgspec.structs.replace(base.kubelet, **kubelet),
        written=base.written if written is None else written,
    )
