"""From the link to SRAM: buffers, and the verdict on each packet."""
