"""The journal's records: encoded, and read again as far as each reader needs them."""
