"""SRAM blocks, host memory runs, host DMA, and the pools that channels share."""
