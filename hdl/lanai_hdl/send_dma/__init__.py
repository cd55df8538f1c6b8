"""From SRAM to the link: descriptors, and the credit that lets a packet chase the host DMA."""
