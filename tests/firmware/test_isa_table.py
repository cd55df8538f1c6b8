"""The page of the reference says what the declaration says."""

from pathlib import Path

from lanai_firmware.isa_table import lines, pattern, rule_text, write
from lanai_hdl.isa import FORMATS, Condition, TrapCause
from lanai_hdl.isa.formats import RR, SLI, SPECIAL


def test_patterns():
    assert pattern(SLI) == "1 1 1 1 rd:5 imm:5 1 0 imm:16"
    assert pattern(RR) == "1 1 0 0 rd:5 rs1:5 flags cond rs2:5 op:3 special:5 cond:3"
    assert pattern(SPECIAL).endswith(" 0 0 0 function:3")


def test_rules_in_words():
    assert rule_text(RR, RR.rules[0]) == (
        "`op` not shift with `special` plain; or `op` shift with `special` logical or arithmetic; "
        "or `op` shift with `special` plain with `flags` 0"
    )


def test_the_page_in_the_docs_is_current(tmp_path):
    write(tmp_path / "isa.md")
    page = Path(__file__).parents[2] / "docs" / "reference" / "isa.md"
    assert page.read_text() == (tmp_path / "isa.md").read_text(), (
        "run: python -m lanai_firmware.isa_table docs/reference/isa.md"
    )


def test_everything_is_there(tmp_path):
    page = "\n".join(lines())
    for item in FORMATS:
        assert f"### {item.name}\n" in page
        for part in item.fields:
            assert f"| `{part.name}` |" in page
    for cause in TrapCause:
        assert cause.name in page
    for condition in Condition:
        assert f"`{condition.suffix}`" in page
    write(tmp_path / "isa.md")
    stamp = (tmp_path / "isa.md").stat().st_mtime_ns
    write(tmp_path / "isa.md")
    assert (tmp_path / "isa.md").stat().st_mtime_ns == stamp
