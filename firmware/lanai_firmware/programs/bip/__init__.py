"""A thin firmware, as BIP's: it moves packets between hosts and knows nothing of messages. One rank a NIC."""
