"""The ring: one-way links from node to node, as SCI's ringlet. Each node has a bypass FIFO, and
inserts its own packets between those that pass."""
