"""The answer to what the node does now: `evictd status`, the page at `/` and the sentences that both show."""
