"""Host memory as the model's host DMA reads and writes it."""


class HostMemory:
    """Host memory as the bus sees it: runs of bytes at bus addresses."""

    def __init__(self) -> None:
        self.runs: list[tuple[int, memoryview]] = []

    def add(self, address: int, view: memoryview) -> None:
        self.runs.append((address, view))

    def remove(self, address: int) -> None:
        self.runs = [run for run in self.runs if run[0] != address]

    def at(self, address: int, size: int) -> memoryview:
        """The bytes at a bus address; raises if no memory is there."""
        for start, view in self.runs:
            if start <= address and address + size <= start + len(view):
                return view[address - start : address - start + size]
        raise IndexError(f"host DMA of {size} bytes at bus address {address:#x}, where nothing is")
