"""Figures: dotted names with numbers, as every measuring command writes them with --json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lanai_firmware import output_file

from .version import version


def write_json(path: str | Path, figures: Mapping[str, float], config: Mapping[str, Any]) -> None:
    """Write `{"figures", "config", "version"}` to `path`. Names are sorted so that two runs compare
    by text."""
    record = {"figures": dict(sorted(figures.items())), "config": dict(config), "version": version()}
    output_file.write(path, json.dumps(record, indent=2, default=str) + "\n", "the figures")
