"""`lanai list parameters`, and values of parameters as `--vary` takes them."""

import dataclasses
import json

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.cli import main
from lanai_sim.job.job import Job
from lanai_sim.job.settings import job_from
from lanai_sim.parameters import MEANINGS, NO_UNIT, UNITS, document_of, parameters, parse


def test_every_parameter_has_a_meaning_and_a_range():
    for name, one in parameters().items():
        assert one.meaning, name
        assert one.range or name == "fabric", name
        assert len(one.meaning) < 400, name


def test_no_words_are_said_of_parameters_that_are_not_there():
    assert {*UNITS, *MEANINGS, *NO_UNIT} <= {*parameters()}


def test_every_member_of_a_job_with_numbers_is_listed():
    job = Job((), device="mbcf")
    for table, config in {"nic": job.machine.nic, "host": job.machine.host, "mbcf": job.chosen_options}.items():
        for field in dataclasses.fields(config):
            if isinstance(getattr(config, field.name), int | float):
                assert f"{table}.{field.name}" in parameters()


def test_ranges_are_what_the_classes_refuse_beyond():
    known = parameters()
    assert (known["nic.link_latency"].low, known["nic.link_latency"].high) == (1, 512)
    assert known["nic.sram_size"].range == "4,096 to 1,048,576, a power of 2"
    assert known["t3d.cache"].range == "invalidate, line, off, coherent"
    assert known["host.call"].unit == "ps"
    assert known["nic.link_kbytes"].unit == "kB/s"


def test_the_list_is_printed_and_written(capsys):
    assert main(["list", "parameters", "nic.link"]) == 0
    said = capsys.readouterr().out
    assert "nic.link_kbytes" in said
    assert "1 to 264,000" in said
    assert main(["list", "parameters", "--json", "nic.link_latency"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["unit"], one["range"]) == ("slots", "1 to 512")


def test_values_have_the_type_of_the_parameter():
    assert parse("nic.link_kbytes=20000,40000") == ("nic.link_kbytes", [20000, 40000])
    assert parse("ranks=2-4,8,8") == ("ranks", [2, 3, 4, 8])
    assert parse("host.cpu_scale=0.5,1") == ("host.cpu_scale", [0.5, 1.0])
    assert parse("host=free") == ("host", ["free"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nic.link_kbytes", "--vary 'nic.link_kbytes' is not understood; write NAME=VALUE,VALUE"),
        ("nic.link_kbyte=1", "'nic' has no parameter 'link_kbyte'; did you mean 'link_kbytes'?"),
        ("nic.x=1", "--vary: 'nic' has no parameter 'x'; see `lanai list parameters nic`"),
        ("nic.remote.pears=1", "no parameter 'pears'; did you mean 'peers'? see `lanai list parameters nic.remote`"),
        ("nik.link_kbytes=1", "no parameter is called 'nik.link_kbytes'; did you mean 'nic.link_kbytes'?"),
        ("x=1", "no parameter is called 'x'; see `lanai list parameters`"),
        ("host.call=x", "--vary host.call: 'x' is not a whole number; it may be 0 to 1,000,000,000,000"),
        ("ranks=3-2", "--vary ranks: '3-2' has no values; write the smaller one first: 2-3"),
        ("host.call=0-99999999999", "'0-99999999999' has 100,000,000,000 values; name at most 10,000"),
        ("host.cpu_scale=x", "'x' is not a number"),
        ("host=fre", "--vary host: 'fre' is not known; did you mean 'free'"),
    ],
)
def test_what_cannot_be_varied_is_refused(text, said):
    with pytest.raises(UserError) as caught:
        parse(text)
    assert said in str(caught.value)


def test_a_member_is_laid_over_its_preset():
    document = document_of(
        {"nic": {"preset": "t3d", "link_kbytes": 5}}, {"nic.rx_fifo": 128, "nic": "lanai41", "nic.remote.peers": 32}
    )
    assert document == {"nic": {"preset": "lanai41", "rx_fifo": 128, "remote": {"peers": 32}}}
    job = job_from({"device": "sci", **document}, Job)
    assert job.machine.nic.rx_fifo == 128
