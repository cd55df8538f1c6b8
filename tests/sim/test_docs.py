"""The sample of the FPGA page: a board's top, Verilated, identifies itself over its serial line."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "fpga.md"


@pytest.mark.ci
def test_samples_run():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert blocks, "the page has no sample"
    exec(compile("\n".join(blocks), PAGE.name, "exec"), {"__name__": "sample"})
