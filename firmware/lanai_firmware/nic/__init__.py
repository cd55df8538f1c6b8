"""The driver layer that every firmware shares: registers, DMA engines, events, timer."""
