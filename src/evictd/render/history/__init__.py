"""What the journal says happened: the list of `evictd history`, and of one pod `evictd why`."""
