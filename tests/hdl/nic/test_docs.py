"""The NIC's pages: their code runs, and the generated one is what the declaration gives."""

import re
from pathlib import Path

from lanai_hdl.machine_table import page

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def test_the_code_on_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", (REFERENCE / "nic.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "nic.md", "exec"), {})


def test_the_machine_page_is_up_to_date():
    assert (REFERENCE / "machine.md").read_text() == page(), (
        "run: python -m lanai_hdl.machine_table > docs/reference/machine.md"
    )
