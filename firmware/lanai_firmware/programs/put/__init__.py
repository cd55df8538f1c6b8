"""Remote memory by firmware: a rank puts bytes into the memory of another. One rank a NIC."""
