"""The Python end of the library: fills the front's table, opens the world at MPI_Init, closes it
when Python ends."""

import atexit
import contextlib
import ctypes
import importlib
import importlib.machinery
import importlib.util
import json
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from .. import c_module, source_lines
from ..clocks import library as clocks
from ..clocks.library import loaded as has_clocks
from ..connect import device_over, solo_device
from ..device import Device, Envelope
from ..errors import UserError, say
from ..mpi.constants import ThreadLevel
from ..mpi.errors import ErrorClass, MpiError
from ..mpi.unreceived import queued, unreceived
from ..mpi.windows.memory import Watch
from ..mpi.world import World
from ..operation import Wait
from ..simulator.client import Released, SimulatorClient
from ..simulator.manager_client import RunManager
from ..simulator.protocol import (
    ENV_CHECK,
    ENV_LEAKS,
    ENV_NOTES,
    ENV_RACES,
    ENV_SYNCHRONOUS,
    TEXT,
    FinalState,
    Notebook,
    Op,
    pack_wait,
)
from ..source_lines import place_of
from . import binding, callbacks, failures, functions, in_c, leaks, program_end
from .context import Phase, abi
from .counting import Counting, pace
from .flavor import BRIDGE, FLAVORS, INTERFACE
from .observe import ObservedDevice, Observer
from .simulated_clocks import SimulatedClocks
from .symbols import check_process, names_sessions

DEAD = 2  # the front's state once Python has ended
SLOT = 1 / 66.6e6  # seconds; MPI_Wtick, where the device does not say


def attach(
    flavor: str,
    directory: str,
    table: int,
    state: int,
    started: int,
    unweighted: int,
    weights_empty: int,
    own: AbstractContextManager[Any],
    hide: Callable[[], None] | None = None,
) -> None:
    """Called by the front at the first MPI call. `started`: C began this process, and Python serves
    it. `own`: to be entered while this library imports (`own_imports`). `hide`: what was imported is to be
    hidden from the program (`guest`)."""
    try:
        check_process(FLAVORS[flavor].soname, Path(directory))
    except UserError as error:
        _refuse(error)
    path = str(Path(directory) / f"{BRIDGE}.so")
    loader = importlib.machinery.ExtensionFileLoader(BRIDGE, path)
    spec = importlib.util.spec_from_file_location(BRIDGE, path, loader=loader)
    assert spec is not None
    bridge: Any = importlib.util.module_from_spec(spec)
    interface = json.loads((Path(directory) / INTERFACE).read_text())
    abi.attach(bridge.ffi, bridge.lib, FLAVORS[flavor], interface["constants"], unweighted, weights_empty)
    process.foreign = bool(started)
    process.library = ctypes.CDLL(str(Path(directory) / FLAVORS[flavor].soname))
    source_lines.use_native(process.library)
    in_c.begin(process.library)
    callbacks.use(process.library)
    for module in pkgutil.iter_modules(functions.__path__):
        importlib.import_module(f"{functions.__name__}.{module.name}")
    for name, prototype in interface["functions"].items():
        define = bridge.ffi.def_extern(name=name, onerror=partial(_escaped, name, prototype[0]))
        define(partial(_first_call, name, prototype, define))
    bridge.lib.lanai_fill(bridge.ffi.cast("void *", table))
    failures.end_process = process.end
    process.own, process.hide = own, hide
    c_module.own_imports = own
    if not started:
        atexit.register(_python_ends, ctypes.c_int.from_address(state))


def _first_call(name: str, prototype: list[Any], define: Callable[[Any], Any], *arguments: Any) -> Any:
    """Most programs use few functions, so each is made when first called, and takes this one's
    place."""
    counting = process.counting
    made = _made(name, prototype) if counting is None else counting.call(counting.aside(_made, name, prototype))
    define(made)
    try:
        return made(*arguments)
    finally:
        if process.hide is not None:  # most of what is imported late is imported here
            process.hide()


def _made(name: str, prototype: list[Any]) -> Callable[..., Any]:
    with process.own:
        made = binding.make(name, prototype)
    if process.recorder is not None:
        made = process.recorder.call(name, prototype, made)
    return made if process.observer is None else process.observer.call(name, prototype, made)


def _escaped(name: str, result: str, kind: type[BaseException], error: BaseException, trace: Any) -> int:
    """Report an exception that leaves a binding, which none should, and return the result for C."""
    if isinstance(error, KeyboardInterrupt):
        process.end(128 + signal.SIGINT, f"{name}: interrupted")
    code = failures.failed(name, error if isinstance(error, Exception) else RuntimeError(repr(error)))
    return code if result == "int" else 0


def _work(world: World, client: SimulatorClient, picoseconds: int) -> None:
    """The program has worked so long."""
    if not world.work(picoseconds):
        client.charge(picoseconds)


def _polls(client: SimulatorClient, why: Wait | None) -> None:
    """The program polls in vain, or does not do so any more."""
    client.notify(Op.POLLS, b"" if why is None else pack_wait(source_lines.located(why)))


def _pass_time(world: World, client: SimulatorClient, picoseconds: int) -> None:
    """So much time has passed for this process and for all others."""
    if not world.work(picoseconds):
        client.pass_time(picoseconds)


class Process:
    """The part of this process in a run, or that it is alone."""

    foreign = False
    library: ctypes.CDLL  # this libmpi
    own: AbstractContextManager[Any] = contextlib.nullcontext()
    hide: Callable[[], None] | None = None
    client: SimulatorClient | None = None
    observer: Observer | None = None  # in a traced run
    recorder: Any = None  # of `checking.recorder`, in a run of `lanai check`
    counting: Counting | None = None  # where computing is counted
    clocks = False  # the clocks of this process are simulated
    _at_exit: Any = None  # what C calls when the process ends

    def open(self, required: int) -> ThreadLevel:
        """MPI_Init_thread."""
        device, tick = self._device()
        notes = os.environ.get(ENV_NOTES, "").strip()
        if self.client is None or not notes:
            return self._open(required, device, tick)
        self.observer = Observer(self.client, device, Notebook(notes, self.client.rank))
        call = self.observer.enter("MPI_Init", site=source_lines.caller(sys._getframe()))
        try:
            return self._open(required, ObservedDevice(device, self.observer), tick)
        finally:
            self.observer.leave(call)

    def _open(self, required: int, device: Device, tick: float) -> ThreadLevel:
        client = self.client
        manager = None if client is None else RunManager(client, device)
        start = None if client is None else client.start()
        world = World(device, self.end, self.foreign, tick, client is not None, manager, start)
        world.errors = failures.ERRORS
        if os.environ.get(ENV_RACES):
            world.process.races = Watch(self._report_race, _place)
        world.call_site = _site
        world.on_leave = self._on_leave
        level = world.init(required)
        abi.open(world)
        if os.environ.get(ENV_LEAKS) or os.environ.get(ENV_CHECK):
            leaks.watch()
        if directory := os.environ.get(ENV_CHECK):
            from .checking.recording import recorder  # no other run needs it

            self.recorder = recorder(directory, device.rank)
            world.on_error = self.recorder.error
            world.process.races = Watch(self.recorder.race, _place)
        if os.environ.get(ENV_SYNCHRONOUS) or device.orders is not None:
            world.send_synchronously()
        if client is not None:
            client.on_end = self._final_state
            world.process.progress.pass_time = partial(_pass_time, world, client)
            client.watch_crashes(self.library)
            world.process.progress.polls.tell = partial(_polls, client)
            host = client.config["host"]
            if price := int(host["compute"]):
                time = pace(price, float(host["jitter"]), int(host["jitter_seed"]), device.rank)
                self.counting = Counting(partial(_work, world, client), time, self.foreign)
            else:
                world.clock.only_read = self._hint
        if self.observer is not None or self.recorder is not None or self.counting is not None:
            in_c.end()
        world.meet_parent()
        if client is not None and has_clocks():
            clocks.begin(SimulatedClocks(world, client, self.observer))
            self.clocks = True
        return level

    def _hint(self) -> None:
        say(
            f"lanai: hint: {abi.world.label} does nothing but read the clock, and computing takes no simulated "
            "time; if it waits for its own work to take time, run it with --compute counted"
        )

    def _final_state(self, on_nic: list[Envelope]) -> FinalState:
        """For the report of a run that has ended while this process waits."""
        here = source_lines.located(Wait(""))
        return FinalState(here.call, here.site, unreceived(abi.world, on_nic), queued(abi.world))

    def _device(self) -> tuple[Device, float]:
        self.client = SimulatorClient.from_environment()
        if self.client is None:
            return solo_device(), SLOT
        slot_khz = self.client.config.get("slot_khz")
        return device_over(self.client), 1 / (1000 * slot_khz) if slot_khz else SLOT

    def finalize(self) -> None:
        """MPI_Finalize. It does not end sessions: MPI goes on for those that are there, and
        for those that the program may begin later."""
        with self.leaving():
            if abi.sessions.made():
                abi.world.finalize(stay=True)
            elif abi.had_sessions or (self.foreign and names_sessions()):
                abi.world.finalize(stay=True)
                self.pause()
            else:
                self.close()

    @contextlib.contextmanager
    def leaving(self) -> Iterator[None]:
        """While MPI ends because the program does, the launcher knows of it. If the others never come,
        it learns how the program ends."""
        error = program_end.error()
        if self.client is not None and error is not None:
            self.client.notify(Op.LEAVES, error.encode(*TEXT))
        if self.recorder is not None and error:
            self.recorder.leaves(error)
        try:
            yield
        except Released:
            abi.phase = Phase.AFTER

    def close(self) -> None:
        """The end of MPI in this process."""
        if self.clocks:
            clocks.end(abi.world.process.device.now())
            self.clocks = False
        if self.observer is not None and not self.observer.inside:
            self.observer.enter("MPI_Finalize")  # Python ends without the program's call; ends with the rank's part
        end = abi.world.leave if abi.world.finalized else abi.world.finalize
        for wrong in end(self._report_leaks if os.environ.get(ENV_LEAKS) or self.recorder else None):
            text = f"{abi.world.label}: MPI_Finalize: {wrong}"
            if self.recorder is not None:
                self.recorder.error(MpiError(ErrorClass.OTHER, f"MPI_Finalize: {wrong}"), fatal=True)
            say(text)
            self.end(1, text)  # whatever the program's error handlers are: it is not the program that was meant
        if self.client is not None:
            # Whatever the device did: the simulation no longer waits for this process.
            device = abi.world.process.device
            self.client.finalize(device.placement, device.handover)
        in_c.end_partitions()
        abi.phase = Phase.AFTER

    def pause(self) -> None:
        """Neither MPI_Init nor a session keeps MPI going. A session may begin, so MPI ends with the
        process."""
        in_c.end_partitions()
        abi.phase = Phase.BETWEEN_SESSIONS
        if self.foreign and self._at_exit is None:
            self._at_exit = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: close_at_exit())
            ctypes.CDLL(None)["__cxa_atexit"](self._at_exit, None, None)

    def _on_leave(self) -> None:
        """Tell the launcher what its last lines say of this rank."""
        if self.client is None:
            return
        if left := leaks.counts():
            self.client.notify(Op.LEFT, json.dumps(left).encode())
        seen = abi.world.process.seen_types
        if seen.complete and (types := list(seen.all())):
            self.client.notify(Op.TYPES, json.dumps(types).encode())

    def _report_leaks(self, found: list[str]) -> None:
        if self.recorder is not None:
            self.recorder.over(leaks.left())
        if not os.environ.get(ENV_LEAKS):
            return
        for line in [*found, *leaks.found()]:
            say(f"lanai: leak: {abi.world.label}: {line}")

    def _report_race(self, found: str) -> None:
        say(f"lanai: race: {abi.world.label}: {found}")

    def end(self, code: int, text: str) -> None:
        """Ends the job with this exit code; never returns."""
        _flush()
        if self.client is not None and abi.phase is not Phase.AFTER:
            self.client.abort(code)
        os._exit(code & 0xFF or 1)


def _flush() -> None:
    """Write out all that Python and C have printed, where the program has not closed it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    ctypes.CDLL(None).fflush(None)


def _place(call: str) -> str:
    """The call of MPI that the program is in, and where it made it."""
    here = source_lines.located(Wait(call))
    site = place_of(os.getpid(), here.site)
    return f"{here.call} at {site}" if site else here.call


def _site() -> str:
    return place_of(os.getpid(), source_lines.here())


process = Process()


def begin(required: int) -> ThreadLevel:
    """MPI_Init_thread, or the first session or one after others; the thread level is that of the
    first. Errors that a user can mend are said plainly."""
    try:
        if abi.phase is Phase.BEFORE:
            with process.own:  # of the device, for example
                level = process.open(required)
            if not process.foreign:
                callbacks.begin()
            return level
    except UserError as error:
        _refuse(error)
    abi.phase = Phase.RUNNING
    return abi.world.thread_level


def _refuse(error: UserError) -> NoReturn:
    say(f"lanai: error: {error}")
    os._exit(2)


def _python_ends(state: Any) -> None:
    """mpi4py finalizes MPI only after the interpreter is gone, so it is done now; from here on the
    front answers alone."""
    close_at_exit()
    in_c.end()
    state.value = DEAD


def close_at_exit() -> None:
    """MPI_Finalize for a process that ends without it."""
    if abi.phase in (Phase.RUNNING, Phase.BETWEEN_SESSIONS):
        try:
            with process.own, process.leaving():
                process.close()
        except Exception as error:
            say(f"lanai: error: MPI_Finalize: {error}")
            _flush()
            os._exit(1)  # nobody is left who could get an error code
