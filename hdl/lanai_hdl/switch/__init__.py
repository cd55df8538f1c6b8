"""The wormhole switch."""
