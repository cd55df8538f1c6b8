"""Programs of a paper's experiments, run as jobs."""

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

from lanai_host.errors import UserError

from ...job.job import Job
from ...job.result import Result


@dataclass(frozen=True)
class Programs:
    """The modules of a package, each a program that prints lines "name value".

    Attributes:
        job: what all of them run as, but for the program.
    """

    package: ModuleType
    job: Job

    def run(self, program: str, *arguments: object, **changes: Any) -> Result:
        """Run a program. `changes`: of the job, as `Job.but` has them."""
        path = str(Path(str(files(self.package))) / f"{program}.py")
        return self.job.but(program=("python", path, *map(str, arguments)), capture=True, **changes).run()

    def lines(self, program: str, *arguments: object, **changes: Any) -> dict[str, float]:
        """Return the lines "name value" that it prints. Raises UserError if it fails."""
        result = self.run(program, *arguments, **changes)
        if not result.ok:
            errors = "".join(one.stderr for one in result.outputs)
            raise UserError(f"{program}.py ended with code {result.code}:\n{errors}{result.report}")
        printed = "".join(one.stdout for one in result.outputs)
        return {name: float(value) for name, value in re.findall(r"^(.+) (\S+)$", printed, re.MULTILINE)}
