"""The hub of an Ethernet: packets become frames, with what a frame has around its content and a
least length."""
