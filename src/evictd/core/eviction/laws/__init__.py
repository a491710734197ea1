"""The laws about outcomes: whether an eviction is needed, helps, and costs no pod for another one's growth (policy Standard)."""
