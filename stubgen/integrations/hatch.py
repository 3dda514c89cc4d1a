"""A build hook for hatchling: a project's kernels are compiled while its wheel is built.

The project's wheel gets the generated package beside the project's own, the tag of the platform, and the
requirement for tvm-ffi.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from stubgen.build import pipeline
from stubgen.config import config
from stubgen.problems.problem import StubgenError
from stubgen.render.project.project_files import left_out_of_wheels, wheel_tag
from stubgen.render.project.requirements import requirements


class GenerateHook(BuildHookInterface[Any]):
    """What ``[tool.hatch.build.hooks.cute-stubgen]`` switches on; the settings are the tool's own."""

    PLUGIN_NAME = "cute-stubgen"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate the package, and tell hatchling what goes into the wheel.

        Parameters
        ----------
        version
            ``editable`` for an editable wheel: it leads to the generated package where it lies, so that it
            changes with the next run.
        build_data
            What hatchling builds the wheel from.
        """
        if self.target_name != "wheel":  # sources hold the kernels
            return
        result = self._generate()
        build_data["dependencies"].extend(requirements(result.library))
        if version == "editable":
            build_data["force_include_editable"][str(self._path_file(result))] = (
                f"_{result.library.package}_generated.pth"
            )
            return
        build_data["pure_python"] = False
        build_data["tag"] = wheel_tag(result.host)
        left_out = left_out_of_wheels(result.library)
        for path in result.files:
            if path.startswith(f"{result.library.package}/") and path not in left_out:
                build_data["force_include"][str(result.output / path)] = path

    def _generate(self) -> pipeline.Result:
        root = Path(self.root)
        try:
            settings = config.load(root)
            result = pipeline.generate(
                root, settings, jobs=pipeline.default_jobs(), progress=pipeline.NullProgress()
            )
        except StubgenError as error:
            self.app.abort("\n".join(f"error: {found}" for found in error.problems))
            raise  # for a type checker, which does not know that the line above ends the process
        for warning in result.warnings:
            self.app.display_warning(f"warning: {warning}")
        return result

    def _path_file(self, result: pipeline.Result) -> Path:
        """Write the file by which Python finds the output folder; hatchling copies it."""
        file = Path(tempfile.mkdtemp(prefix="cute-stubgen-")) / "generated.pth"
        file.write_text(f"{result.output}\n", encoding="utf-8")
        return file


@hookimpl
def hatch_register_build_hook() -> type[GenerateHook]:
    """Make the hook known to hatchling; called by it."""
    return GenerateHook
