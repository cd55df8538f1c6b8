"""`lanai run --config FILE`: every table arrives, flags win, and what is wrong is quoted with what
would be right."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from lanai_firmware.programs.mpi_np.plan import RANGES as FIRMWARE
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.config import BlockedAction, NicConfig
from lanai_host.config import RANGES as HOST
from lanai_host.config import HostConfig
from lanai_host.errors import UserError
from lanai_host.stacks import names, stack
from lanai_host.stacks.base import NicStack, Stack
from lanai_host.stacks.ideal.stack import IdealOptions
from lanai_sim.cli import build_parser
from lanai_sim.commands import run as command
from lanai_sim.engines.base import FaultKind
from lanai_sim.job import settings
from lanai_sim.job.data import JobData, WaveConfig
from lanai_sim.tables import from_table

EXAMPLE = Path(__file__).parents[3] / "examples" / "cluster.toml"
WHOLE = """
ranks = 6
ranks_per_node = 2
device = "mpi-np"
engine = "rtl"
threads = 2
skip = false
prefix = true
faults = ["drop nic0 packet=3"]

[fabric]
cables = [["nic0", "switch0.0"], ["nic1", "switch0.1"], ["nic2", "switch0.2"]]

[nic]
preset = "small_fpga"
link_latency = 16
blocked_action = "reset"

[host]
preset = "free"
poll = 1
cpu_scale = 2

[firmware]
preset = "paper"
messages = 64

[ideal]
latency = 5

[limits]
sim_time = "20ms"
wall = 60

[wave]
file = "run.vcd"
nodes = [0, 2]
from = "1ms"
to = "2ms"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.toml"

    def write(text):
        path.write_text(text)
        return path

    return write


def asked(*words):
    """The run of `lanai run WORDS`."""
    return command.config_of(build_parser("run").parse(["run", *words, "true"]))


def test_every_key_arrives(file):
    config = settings.job_from(settings.read(file(WHOLE)), JobData)
    assert (config.ranks, config.ranks_per_node, config.device) == (6, 2, "mpi-np")
    assert (config.threads, config.skip, config.prefix) == (2, False, True)
    assert config.machine.nic == NicConfig(sram_size=131072, link_latency=16, blocked_action=BlockedAction.RESET)
    assert (config.machine.host.poll, config.machine.host.post, config.machine.host.cpu_scale) == (1, 0, 2.0)
    assert config.options == McpConfig(ack_slots=1, unpaid_limit=129, crc_check=0, messages=64)
    ideal = settings.job_from({**settings.read(file(WHOLE)), "device": "ideal"}, JobData)
    assert ideal.options == IdealOptions(latency=5)
    assert (config.max_sim_time, config.max_wall) == (20 * 10**9, 60.0)
    assert config.wave == WaveConfig("run.vcd", (0, 2), 10**9, 2 * 10**9)
    assert config.machine.fabric[2] == ((False, 2, 0), (True, 0, 2))
    (fault,) = config.machine.faults
    assert (fault.kind, fault.where, fault.packet) == (FaultKind.DROP, "nic0", 3)


def test_an_empty_document_is_the_default():
    assert settings.job_from({}, JobData) == JobData((), 1)


def test_flags_win(file):
    path = str(file(WHOLE.replace('device = "mpi-np"', 'device = "ideal"')))
    config = asked(
        "--config", path, "-n", "3", "--device", "mpi-np", "--nic", "lanai41", "--host-option", "post=7",
        "--max-wall", "5",
        "--fault", "corrupt * rate=0.5", "--wave-to", "3ms", "--fabric", "switch",
    )  # fmt: skip
    assert (config.ranks, config.device, config.ranks_per_node) == (3, "mpi-np", 2)
    assert config.machine.nic == NicConfig()  # another preset: the file's changes were of its own
    assert (config.machine.host.poll, config.machine.host.post) == (1, 7)
    assert (config.max_sim_time, config.max_wall) == (20 * 10**9, 5.0)
    assert [fault.kind for fault in config.machine.faults] == [FaultKind.DROP, FaultKind.CORRUPT]
    assert config.wave == WaveConfig("run.vcd", (0, 2), 10**9, 3 * 10**9)
    assert config.machine.fabric == "switch"


def test_flags_alone():
    config = asked(
        "-n",
        "2",
        "--device",
        "mpi-np",
        "--nic-option",
        "link_latency=9",
        "--firmware",
        "preset=paper",
        "--cpu-scale",
        "0.5",
    )
    assert config.machine.nic == NicConfig(link_latency=9)
    assert config.options.ack_slots == 1
    assert config.machine.host == HostConfig(cpu_scale=0.5)


@pytest.mark.parametrize(("text", "word"), [("true", "yes"), ("1", "1"), ('"yes"', "true")])
def test_a_switch_is_a_word_or_a_number_of_an_older_file(file, text, word):
    path = str(file(f'device = "mpi-np"\n[host]\nhost_matching = {text}\n'))
    assert asked("--config", path).machine.host.host_matching is True
    options = ("--device", "mpi-np", "--host-option", f"semaphore={word}", "--host-option", "ask_first=0")
    assert asked(*options).machine.host == HostConfig(semaphore=True)
    with pytest.raises(UserError, match=r"host_matching = 2 must be yes or no$"):
        asked("--host-option", "host_matching=2")


def test_the_example_is_right():
    assert settings.job_from(settings.read(EXAMPLE), JobData).ranks_per_node == 2


def test_a_fabric_file_lies_beside_the_one_that_names_it(file, tmp_path):
    (tmp_path / "ring.toml").write_text('cables = [["nic0", "nic1"]]')
    assert settings.read(file('fabric = "ring.toml"'))["fabric"] == str(tmp_path / "ring.toml")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("rank = 2", r"no key 'rank'; did you mean 'ranks'\? it may have: ranks, "),
        ("ranks = '2'", "ranks = '2' must be a whole number"),
        ("ranks = true", "ranks = True must be a whole number"),
        ("ranks = 0", "ranks = 0 is not a count"),
        ("skip = 1", "skip = 1 must be true or false"),
        ("device = 'mpi_np'", "'mpi_np' is not known; did you mean 'mpi-np'\\? choose one of ideal, .*mpi-np"),
        ("nic = 'lanai41'", r"must be a table; write \[nic\]"),
        ("[nic]\nlink_latancy = 3", r"\[nic\] has no key 'link_latancy'; did you mean 'link_latency'\?"),
        ("[nic]\nlink_latency = 'short'", r"\[nic\]: link_latency = 'short' must be a whole number"),
        ("[nic]\nlink_latency = 9999", r"\[nic\]: link_latency=9999 must be a whole number from 1 to 512"),
        ("[nic]\nblocked_action = 'explode'", "must be one of 'drop', 'reset'"),
        (
            "[nic]\npreset = 'lanai9'",
            "'lanai9' is not known; did you mean 'lanai41'\\? choose one of lanai41, small_fpga",
        ),
        ("[host]\npoll = -1", r"\[host\]: HostConfig.poll=-1"),
        (
            "[firmware]\nsram_size = 1",
            r"no key 'sram_size'; it is a key of \[nic\] \(--nic-option sram_size=\.\.\.\); here it may have: messages",
        ),
        ("[nic]\npeers = 1", r"it is a key of \[nic.remote\] \(--nic-option remote\.peers=\.\.\.\); here it may"),
        ("[host]\nwake = 1", r"it is a key of \[host.kernel\] \(--host-option kernel\.wake=\.\.\.\); here it may"),
        ("[mbcf]\nring = 1", r"it is a key of \[sci\] \(--option ring=\.\.\.\); here it may have: "),
        ("[firmware]\ncredits = 1", r"\[firmware\] has no key 'credits'"),
        ("[limits]\nsim_time = 3", "3 is not a time; write a text with a unit"),
        ("[limits]\nsim_time = '3'", "'3' is not a time"),
        ("[limits]\nwall = 0", "positive number of seconds"),
        ("[wave]\nfrom = '1ms'", "names no file"),
        ("[wave]\nfile = 'a'\nfrom = '2ms'\nto = '1ms'", "to = '1ms' is not after from = '2ms'"),
        ("[wave]\nfile = 'a'\nnodes = 1", "nodes = 1 is not understood"),
        ("faults = 'drop'", "faults = 'drop' is not understood"),
        ("faults = ['lose nic0']", "'lose nic0' is not understood"),
        ("[fabric]\nwires = 1", r"\[fabric\] has no key 'wires'"),
        ("[fabric]\ncables = [['nic0', 'hub']]", "cable end 'hub'"),
        ("ranks = ", "cannot read the configuration"),
    ],
)
def test_what_is_wrong_is_quoted(file, text, complaint):
    path = file(text)
    with pytest.raises(UserError, match=complaint) as error:
        settings.read(path)
    assert str(path) in str(error.value)


def test_a_missing_file_is_named():
    with pytest.raises(UserError, match=r"'absent.toml': No such file"):
        asked("--config", "absent.toml")


@pytest.mark.parametrize("words", [("--nic-option", "latency"), ("--wave", "f", "--wave-nodes", "a")])
def test_bad_flags_are_quoted(words):
    with pytest.raises(UserError, match=f"{words[-2]} '{words[-1]}' is not understood"):
        asked(*words)


@pytest.mark.parametrize(
    ("table", "name", "value", "complaint"),
    [
        (
            "ideal",
            "latency",
            -1_000_000,
            "IdealOptions.latency=-1000000 must be a whole number from 0 to 1,000,000,000,000",
        ),
        ("ideal", "byte_time", 2 * 10**12, "IdealOptions.byte_time=2000000000000 must be a whole number from 0 to"),
        ("host", "poll", -1, "HostConfig.poll=-1 must be a whole number from 0 to 1,000,000,000,000"),
        ("host", "cpu_scale", -0.5, "HostConfig.cpu_scale=-0.5 must be a number from 0.0 to 1,000,000.0"),
        ("host", "pages_per_entry", 5, "HostConfig.pages_per_entry=5 must be a whole number from 1 to 4"),
        ("firmware", "stages", 128, "McpConfig.stages=128 must be a whole number from 0 to 64"),
        ("nic", "link_latency", 0, "link_latency=0 must be a whole number from 1 to 512"),
    ],
)
def test_a_number_out_of_its_range_is_refused_with_the_range(table, name, value, complaint):
    with pytest.raises(UserError, match=re.escape(complaint)):
        settings.job_from({table: {name: value}}, JobData)


@pytest.mark.parametrize(("kind", "table"), [(HostConfig, HOST), (McpConfig, FIRMWARE)])
def test_every_number_has_a_range(kind, table):
    assert set(table) == {field.name for field in fields(kind) if type(field.default) in (int, float)}
    for name, (low, high) in table.items():
        for value in (low - 1, high + 1, True, "1"):
            with pytest.raises(UserError, match=f"{kind.__name__}.{name}={value!r} must be"):
                kind(**{name: value})


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_a_switch_of_python_is_true_or_false(value):
    switches = [field.name for field in fields(HostConfig) if isinstance(field.default, bool)]
    assert switches == ["ask_first", "host_matching", "pio_when_empty", "semaphore"]
    for name in switches:
        with pytest.raises(UserError, match=f"HostConfig.{name}={value!r} must be True or False"):
            HostConfig(**{name: value})


NIC_ONLY = [
    ["--wave", "x.vcd"], ["--nic-option", "link_latency=9"], ["--nic", "lanai41"], ["--firmware", "recovery=1"],
     ["--fabric", "pair"],
    ["--fault", "drop nic0 packet=1"], ["--survive-death"], ["--host-option", "pio_threshold=9"],
]  # fmt: skip


@pytest.mark.parametrize("flags", NIC_ONLY, ids=lambda flags: flags[0])
def test_flags_that_cannot_act_are_refused_by_name(flags):
    named = " ".join(flags) if flags[0] in ("--host-option", "--firmware") else flags[0]
    with pytest.raises(UserError, match=f"^{named} cannot act on the device 'ideal'"):
        asked("-n", "2", "--device", "ideal", *flags)
    assert asked("-n", "2", "--device", "mpi-np", *flags).device == "mpi-np"


@pytest.mark.parametrize("flags", [one for one in NIC_ONLY if one[0] not in ("--host-option", "--firmware")])
def test_who_asks_for_nics_and_names_no_device_gets_lanai2(flags, file):
    assert asked("-n", "2", *flags).device == "lanai2"
    assert asked("-n", "2", "--config", str(file("device = 'bip'")), *flags).device == "bip"
    assert asked("-n", "2", "--system", "sci-2002", *flags).device == "sci"


@pytest.mark.parametrize("flags", [["--engine", "board"], ["--board", "ulx3s-85f"]], ids=lambda flags: flags[0])
def test_who_asks_for_boards_has_nics(flags):
    assert asked("-n", "2", *flags).device == "lanai2"
    with pytest.raises(UserError, match=f"^{flags[0]}.* cannot act on the device 'ideal', which has no NICs"):
        asked("-n", "2", "--device", "ideal", *flags)


def test_without_a_word_of_nics_there_are_none(file):
    assert asked("-n", "2").device == "ideal"
    assert asked("-n", "2", "--fault", "kill rank1 at=20ms").device == "ideal"
    assert asked("-n", "2", "--config", str(file("[nic]\nlink_latency = 16"))).device == "ideal"


@pytest.mark.parametrize("device", names())
def test_flags_that_change_no_result_are_accepted_on_every_device(device):
    flags = ["--buffers", "page", "--threads", "2", "--engine", "rtl", "--no-skip", "--no-snapshot", "--no-fork"]
    assert asked("-n", "2", "--device", device, *flags).device == device


def test_choices_that_a_driver_does_not_know_are_refused_with_the_devices_that_do():
    for device in {*names()} - {"mpi-np", "ideal"}:
        with pytest.raises(UserError, match=f"^--host-option host_matching=1 cannot act on .*'{device}'.*: mpi-np$"):
            asked("--device", device, "--host-option", "host_matching=1")
        with pytest.raises(UserError, match=f"^--firmware recovery=1 cannot act on .*'{device}'.*--option.*: mpi-np$"):
            asked("--device", device, "--firmware", "recovery=1")
        asked("--device", device, "--host-option", "watchdog=0", "--host-option", "call=5")
    with pytest.raises(UserError, match=r"'sci', .*: bip, mpi-np, t3d$"):
        asked("--device", "sci", "--host-option", "pinned_cache_pages=0")


def test_parameters_of_blocks_are_tables_of_the_nic(file):
    path = str(file("device = 'sci'\n[nic]\nlink_latency = 16\n[nic.remote]\npages = 64"))
    nic = asked("--config", path, "--nic-option", "remote.peers=32").machine.nic
    (adapter,) = nic.blocks
    assert (nic.link_latency, adapter.peers, adapter.pages) == (16, 32, 64)
    with pytest.raises(UserError, match=r"\[nic.remote\] has no key 'pears'; did you mean 'peers'"):
        asked("--device", "sci", "--nic-option", "remote.pears=32")
    with pytest.raises(UserError, match=r"\[nic\] of these NICs has no key 'remote'"):
        asked("--device", "mpi-np", "--nic-option", "remote.peers=32")


def test_prices_of_a_kernel_are_a_table_of_the_host(file):
    path = str(file("device = 'mbcf'\n[host]\npreset = 'supersparc_85'\n[host.kernel]\nwake = 7"))
    host = asked("--config", path, "--host-option", "kernel.take=5", "--host-option", "call=6").machine.host
    assert (host.kernel.wake, host.kernel.take, host.kernel.arrival, host.call) == (7, 5, 4_200_000, 6)
    with pytest.raises(UserError, match=r"\[host\].kernel has no key 'weak'; did you mean 'wake'"):
        asked("--device", "mbcf", "--host-option", "kernel.weak=1")
    with pytest.raises(UserError, match=r"\[host\].kernel = 5 must be a table"):
        asked("--device", "mbcf", "--host-option", "kernel=5")
    with pytest.raises(UserError, match=r"--host-option kernel.wake=1 cannot act on the device 'ideal'"):
        asked("--device", "ideal", "--host-option", "kernel.wake=1")


def test_a_file_may_describe_what_another_device_would_use(file):
    assert asked("--config", str(file(WHOLE)), "--device", "ideal", "--host-option", "call=5").device == "ideal"


@pytest.mark.parametrize("name", ["fm", "gm", "mpi_np", "MPI-NP", "T3D"])
def test_devices_that_are_not_there_are_refused_with_those_that_are(name):
    said = f"'{name}' is not known; (did you mean '(mpi-np|t3d)'\\? )?choose one of ideal, .*mpi-np"
    with pytest.raises(UserError, match=f"device {said}"):
        settings.job_from({"device": name}, JobData)
    with pytest.raises(UserError, match=f"--device {said}"):
        asked("--device", name)


@pytest.mark.parametrize("name", names())
def test_every_device_that_is_offered_is_there(name):
    found = stack(name)
    assert isinstance(found, NicStack if found.nics else Stack)
    assert from_table("[x]", found.default_options(), {}) == found.default_options()


def test_an_option_goes_to_the_chosen_system():
    assert asked("--option", "latency=7").options == IdealOptions(latency=7)
    assert asked("--device", "mpi-np", "--option", "ack_slots=1").options == McpConfig(ack_slots=1)
    with pytest.raises(UserError, match=r"\[firmware\] has no key 'latency'"):
        asked("--device", "mpi-np", "--option", "latency=7")


def test_an_unknown_engine_is_refused_with_those_that_exist():
    said = "engine 'pysi' is not known; did you mean 'pysim'\\? choose one of rtl, board, pysim"
    with pytest.raises(UserError, match=said):
        settings.job_from({"engine": "pysi"}, JobData)


@pytest.mark.parametrize(
    ("document", "text", "able"),
    [
        ({"threads": 2}, "threads = 2", "rtl"),
        ({"skip": False}, "skip = false", "rtl, board"),
        ({"faults": ["drop nic0 packet=3"]}, "faults", "rtl"),
        ({"wave": {"file": "a.vcd"}}, "waveforms", "rtl"),
    ],
)
def test_an_engine_is_not_asked_for_what_it_cannot_do(document, text, able):
    config = settings.job_from({"engine": "pysim", **document}, JobData)
    said = f"'pysim' cannot serve {text}; leave it out, or take an engine that can: {able}$"
    with pytest.raises(UserError, match=said):
        config.check_engine()
    settings.job_from({"engine": "rtl", **document}, JobData).check_engine()
    settings.job_from({"engine": "pysim"}, JobData).check_engine()
