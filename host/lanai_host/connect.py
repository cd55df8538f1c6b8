"""A process's device, as its environment says: what `lanai run` chose, or a world of one for a program started by itself."""

import importlib
import os
from collections.abc import Callable
from typing import Any

from .config import HostConfig
from .device import Device
from .devices.ideal import IdealDevice, Solo
from .devices.ideal_quick import QuickIdeal
from .errors import UserError
from .portal import Portal
from .protocol import ENV_DEVICE

# Devices with a NIC: module in `lanai_host.devices` with `connect(portal, host) -> Device`, loaded when chosen.
NIC_DEVICES = {"mpi-np": "mpi_np", "mbcf": "mbcf", "t3d": "t3d", "sci": "sci", "ccu": "ccu"}
DEVICES = ("ideal", *NIC_DEVICES)


def host_config(values: dict[str, Any]) -> HostConfig:
    return HostConfig(**values)


def _ideal(portal: Portal, host: HostConfig) -> Device:
    if portal.mail is None:
        raise UserError(f"{ENV_DEVICE}=ideal, but the simulator runs NICs; start with `lanai run`")
    device = IdealDevice(portal.rank, portal.size, portal.mail, host)
    device.quick = QuickIdeal(device, portal.mail, host)
    return device


def connector(name: str) -> Callable[[Portal, HostConfig], Device]:
    """The function that makes the device of that name over a portal."""
    if name == "ideal":
        return _ideal
    if name not in NIC_DEVICES:
        raise UserError(f"device {name!r} is not known; choose one of {', '.join(DEVICES)}")
    try:
        module = importlib.import_module(f"lanai_host.devices.{NIC_DEVICES[name]}")
    except ModuleNotFoundError as error:
        raise UserError(f"device {name!r} is not built yet ({error}); choose ideal or mpi-np") from error
    connect: Callable[[Portal, HostConfig], Device] = module.connect
    return connect


def device_from_environment() -> Device:
    """The device of this process. Blocks until the simulator has answered."""
    portal = Portal.from_environment()
    if portal is None:
        return IdealDevice(0, 1, Solo())
    return device_over(portal)


def device_over(portal: Portal) -> Device:
    """The device that the environment names, with what the simulator said of its host and its node."""
    host = host_config(portal.config.get("host", {}))
    device = connector(os.environ.get(ENV_DEVICE, "ideal"))(portal, host)
    device.node = portal.config.get("node")
    return device
