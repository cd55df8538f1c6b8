"""Host DMA: bytes between host memory and SRAM."""
