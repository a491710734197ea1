"""Says what made a node short: pods that grew or came, what belongs to no pod, page cache, images."""
