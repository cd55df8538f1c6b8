"""The adapter as an entry of `NicConfig.blocks`."""

from dataclasses import dataclass

from .parameters import RemoteParameters


@dataclass(frozen=True)
class Remote(RemoteParameters):
    """A remote-memory adapter with these parameters."""

    def build(self, config):
        from .block import RemoteAdapter

        return RemoteAdapter(config, self)
