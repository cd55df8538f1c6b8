"""NICs some of whose engines stand still, so that what should wait for them can be seen to wait."""


def go_on(fabric, *held, limit=1000):
    """Let everything happen until nothing else can, but what is `held`, such as ("copy", 1): the host DMA
    of NIC 1. No timer goes off."""
    for _ in range(limit):
        actions = [action for action in fabric.actions() if action[:2] not in held and action[0] != "tick"]
        if not actions:
            return
        for action in actions:
            fabric.act(action)
    raise AssertionError(f"the NICs are still busy after {limit} rounds")
