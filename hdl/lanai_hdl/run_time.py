"""Numbers that a model of the gateware gets when it runs."""

from amaranth import Instance, Module, Signal

from .numbers import Scaled, greatest

MODULE = "lanai_numbers"  # whose outputs are the numbers; who makes a model writes its text


class RunTimeNumbers:
    """A platform of `elaborate`. The numbers of the configuration that only scale time are signals,
    wide enough for the greatest values."""

    def __init__(self, config: Scaled):
        self.signals = {name: Signal(range(value + 1), name=name) for name, value in greatest(config).items()}


class _View:
    """A configuration as `elaborate` sees it: the numbers that only scale time are those of `signals`.
    Other properties of the configuration follow from them."""

    def __init__(self, config, signals):
        self._config = config
        self._signals = {name: signals[name] for name in (*config.greatest(), *config.derived())}

    def __getattr__(self, name):
        if name in self._signals:
            return self._signals[name]
        found = getattr(type(self._config), name, None)
        return found.fget(self) if isinstance(found, property) else getattr(self._config, name)


def numbers(config: Scaled, platform):
    """The configuration with the numbers that the gateware computes with: values that are known now,
    or, on the platform of a model, signals. Widths follow from the configuration itself, whose numbers
    are then the greatest, or from `up_to`."""
    if isinstance(platform, RunTimeNumbers) and platform.signals:
        return _View(config, platform.signals)
    return config


def up_to(number):
    """The shape of what goes from 0 to `number`, which follows from `numbers`."""
    return range(number + 1) if isinstance(number, int) else number.shape()


def add_numbers(m: Module, platform) -> None:
    """Give `m`, the top of a model, the module that has the numbers."""
    if isinstance(platform, RunTimeNumbers) and platform.signals:
        m.submodules.numbers = Instance(MODULE, **{f"o_{name}": signal for name, signal in platform.signals.items()})
