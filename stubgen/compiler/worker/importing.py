"""Imports kernel modules, and says what is wrong with those that cannot be imported."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import sys
import traceback
from pathlib import Path
from typing import Any

import stubgen
from stubgen.compiler.jobs import ModuleJob, WorkerSettings
from stubgen.compiler.worker.dsl import dsl
from stubgen.compiler.worker.errors import essence, exit_call, file_in_library, place_in, uncoloured
from stubgen.declare.labels import DeclarationError
from stubgen.model.library import Place
from stubgen.problems.problem import Problem, problem


def import_module(settings: WorkerSettings, module: ModuleJob) -> None:
    """Import a kernel module.

    Raises
    ------
    ImportError
        Another module has its name.
    """
    for folder in (settings.project, module.import_root):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    loaded = sys.modules.get(module.import_name)
    if loaded is not None and getattr(loaded, "__file__", None) != module.path:
        raise ImportError(
            f"another module called {module.import_name!r} is imported already, from "
            f"{getattr(loaded, '__file__', 'the interpreter itself')}; rename {module.file}"
        )
    importlib.import_module(module.import_name)


def import_problem(settings: WorkerSettings, module: ModuleJob, error: BaseException) -> Problem:
    """Say what went wrong, where in the project, and where the traceback is."""
    place = place_in(error, settings.project) or Place(module.file, 1)
    if isinstance(error, DeclarationError):
        return problem("CS210", place=place, subject=module.file, reason=str(error))
    misused = misused_helper(error)
    if misused is not None:
        return problem("CS210", place=place, subject=module.file, reason=misused)
    if dsl.is_own_error(error):
        return problem("CS217", place=place, file=module.file, reason=essence(error))
    log = keep_traceback(Path(settings.log_dir) / f"import-{module.name}.log", error)
    library = file_in_library(error, settings.project)
    remark = f", in {library}" if library else ""
    if isinstance(error, SystemExit):
        call = exit_call(error)
        return problem("CS257", place=place, module=module.file, call=call, remark=remark, log=log)
    return problem("CS204", place=place, module=module.file, error=essence(error), remark=remark, log=log)


def keep_traceback(log: Path, error: BaseException) -> str:
    """Write the full text of an error into a file, and return what to call it."""
    try:
        log.write_text(
            uncoloured("".join(traceback.format_exception(error))), encoding="utf-8", errors="replace"
        )
    except OSError as unwritten:  # the error itself is worth more than its log
        return f"a log, which could not be written: {unwritten.strerror}"
    return str(log)


def misused_helper(error: BaseException) -> str | None:
    """Say which of this tool's functions was called with arguments that it does not take, if that is it."""
    match = re.match(r"(\w+)\(\) ", str(error)) if isinstance(error, TypeError) else None
    helper = getattr(stubgen, match[1], None) if match and match[1] in stubgen.__all__ else None
    if helper is None or error.__traceback__ is None:
        return None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    names: dict[str, Any] = frames[-1].f_globals
    is_at_hand = any(value is stubgen or value is helper for value in names.values())
    if not is_at_hand or names.get(helper.__name__, helper) is not helper:
        return None  # another function of that name
    with contextlib.suppress(TypeError, ValueError):
        bare = inspect.signature(helper)
        taken = [p.replace(annotation=p.empty) for p in bare.parameters.values()]
        shown = bare.replace(parameters=taken, return_annotation=bare.empty)
        return f"stubgen.{error}; it takes {shown}"
    return None
