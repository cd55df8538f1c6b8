"""A system's name stands for a device and its machine; what else is said has priority."""

import pytest

from lanai_firmware.programs.mpi_np.plan import paper
from lanai_hdl.errors import UserError
from lanai_sim.commands import run as command
from lanai_sim.job import settings
from lanai_sim.job.data import JobData
from lanai_sim.job.job import Job
from lanai_sim.job.systems import SYSTEMS
from lanai_sim.machine.machine import Machine
from lanai_sim.studies.papers.ccu import experiments as ccu
from lanai_sim.studies.papers.mbcf import experiments as mbcf
from lanai_sim.studies.papers.mpi_np.host_work import thesis
from lanai_sim.studies.papers.sci import experiments as sci
from lanai_sim.studies.papers.t3d import study


def asked(*words):
    return command.config_of(command.flags_of([*words, "true"]))


def same(job, device, machine, options):
    """Return True if a job runs on this system. The NIC of a document has the device's blocks already."""
    equip = getattr(job.stack, "equip", lambda nic: nic)
    nics = [equip(one.nic) for one in (job.machine, machine)]
    return (job.device, job.machine.but(nic=nics[0]), job.chosen_options) == (
        device,
        machine.but(nic=nics[1]),
        options,
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_flag_and_the_api_mean_the_same(name):
    assert asked("--system", name) == Job.on(name, "true")


@pytest.mark.parametrize("name", [name for name in SYSTEMS if not name[-1].isdigit() or name == "t3d"])
def test_a_name_without_a_year_is_the_device_on_the_default_machine(name):
    job = Job(device=name)
    assert same(Job.on(name), name, Machine(), job.chosen_options)


def test_a_name_with_a_year_is_what_the_study_of_the_paper_runs_on():
    assert same(Job.on("t3d-1996"), "t3d", study.RUNS.job.machine, Job(device="t3d").chosen_options)
    assert same(Job.on("ccu-1996"), "ccu", Machine(ccu.NIC, ccu.FABRIC, ccu.HOST), ccu.OURS)
    theirs = mbcf.theirs()
    assert same(Job.on("mbcf-1999"), "mbcf", theirs.machine, theirs.options)
    assert same(Job.on("sci-2002"), "sci", sci.MACHINE, sci.THEIRS.job.chosen_options)
    assert same(Job.on("mpi-np-1999"), "mpi-np", Machine(host=thesis().host), paper().but(mark_entries=1))


def test_the_thesiss_system_may_have_code_of_the_thesiss_speed():
    job = asked("--system", "mpi-np-1999", "--firmware", "preset=thesis-code")
    assert job.chosen_options == paper().but(mark_entries=1, quick=0, optimize=0)
    assert job.machine == Job.on("mpi-np-1999").machine


def test_flags_have_priority():
    job = asked("--system", "ccu-1996", "--fabric", "switch", "--host-option", "poll=7", "--option", "window=3")
    assert (job.machine.fabric, job.machine.host.poll, job.chosen_options.window) == ("switch", 7, 3)
    assert job.machine.host.call == Machine(host="sparc_sunos").host.call
    assert asked("--system", "ccu-1996", "--device", "ccu").device == "ccu"
    assert asked("--system", "t3d-1996", "--nic", "lanai41").machine.nic == Job(device="t3d").machine.nic


def test_members_of_a_job_have_priority():
    job = Job.on("sci-2002", "true", 4, host={"poll": 7}, options={"eager": 64}, max_sim_time="1ms")
    assert (job.ranks, job.machine.host.poll, job.chosen_options.eager) == (4, 7, 64)
    assert job.chosen_options.chunk == sci.THEIRS.job.chosen_options.chunk


def test_a_file_may_name_a_system(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('system = "sci-2002"\nranks = 3\n[host]\npoll = 7\n')
    job = asked("--config", str(path))
    assert (job.device, job.ranks, job.machine.host.poll) == ("sci", 3, 7)
    assert job.machine.host.copy == sci.MACHINE.host.copy


def test_a_system_of_the_command_line_replaces_the_machine_of_the_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('device = "mbcf"\nranks = 3\nfabric = "hub"\n[host]\npoll = 7\n[mbcf]\ninline = 16\n')
    assert asked("--config", str(path), "--system", "mbcf") == Job.on("mbcf", "true", 3)


def test_another_device_is_refused():
    with pytest.raises(UserError, match=r"the system 'sci-2002' has the device 'sci', not 'mbcf'.*: mbcf, mbcf-1999"):
        asked("--system", "sci-2002", "--device", "mbcf")
    with pytest.raises(UserError, match="has the device 'sci', not 'mbcf'"):
        Job.on("sci", "true", device="mbcf")


def test_an_unknown_system_is_refused():
    with pytest.raises(UserError, match=r"system 'sci-2003' is not known; did you mean 'sci-2002'\?"):
        Job.on("sci-2003", "true")
    with pytest.raises(UserError, match="system = 3 is not a name"):
        settings.job_from({"system": 3}, JobData)


def test_a_flag_that_cannot_act_on_the_system_is_refused():
    with pytest.raises(UserError, match="--fabric cannot act on the device 'ideal'"):
        asked("--system", "ideal", "--fabric", "ring")
