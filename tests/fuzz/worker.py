"""Makes drawn calls in a process of its own, which a wrong call may crash.

``python -m tests.fuzz.worker PACKAGE SEED FIRST LAST PROGRESS`` makes the calls from FIRST to before LAST and
prints what went wrong, one line of JSON for each. Before each call its number goes to the file PROGRESS, so
that it is known which one crashed. ``... worker PACKAGE SEED NUMBER`` shows one without making it.
"""

from __future__ import annotations

import importlib
import json
import mmap
import numbers
import random
import re
import struct
import sys
import warnings
import zlib
from collections import Counter
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import msgspec
import numpy as np
import tvm_ffi

from stubgen.model.library import ChoiceSlot, Family, Kernel, Library, PointerSlot, from_json
from tests.fuzz.arguments import Call, Drawing, Given, Pointer, Tuple, Value, tensors
from tests.fuzz.oracle import MisfitError, Oracle, given_values, is_aligned, reachable
from tests.fuzz.references import REACH, REFERENCES

REFUSALS = (TypeError, ValueError, BufferError, RuntimeError, OverflowError, AttributeError, IndexError)
NO_ADDRESSES = (Pointer, Tuple, NoneType, str, bytes, tuple, list, dict, set, float, complex)
MALFORMED = (
    r"Expects \d+ parameters?|has no parameter|by position only|positional argument|keyword(-only)? argument"
    r"|multiple values"
)
NOTHING = np.zeros(0, np.uint8)
_take = tvm_ffi.convert(lambda _: None)


def load_library(folder: Path) -> Library:
    """Read the manifest of a generated package."""
    manifest = json.loads((folder / "manifest.json").read_text())
    return from_json(json.dumps(manifest["library"]).encode())


def host_functions(library: Library) -> dict[str, list[Kernel]]:
    """Return the functions that can be called without a GPU; of a family all variants."""
    found: dict[str, list[Kernel]] = {}
    families = {family.name: family for family in library.families}
    for kernel in library.kernels:
        if not kernel.has_device_code:
            seen = as_family(kernel, families[kernel.variant.family]) if kernel.variant else kernel
            found.setdefault(seen.name, []).append(seen)
    return found


def as_family(kernel: Kernel, family: Family) -> Kernel:
    """Return a variant the parameters of its family, its selectors leaving nothing to choose."""
    own = iter(kernel.parameters)
    assert kernel.variant is not None
    parameters = [
        msgspec.structs.replace(p, slot=ChoiceSlot(p.slot.axis, (kernel.variant.values[p.slot.axis],)))
        if isinstance(p.slot, ChoiceSlot)
        else msgspec.structs.replace(next(own), kind=p.kind, default=p.default)
        for p in family.parameters
    ]
    return msgspec.structs.replace(kernel, name=family.name, parameters=tuple(parameters))


class Package:
    """A generated package whose functions are called."""

    def __init__(self, folder: Path) -> None:
        sys.path.insert(0, str(folder.parent))
        self.name = folder.name
        self.library = load_library(folder)
        self.functions = host_functions(self.library)
        self.records = {module.name: module.records for module in self.library.modules}

    def draw(self, seed: str, number: int) -> Call:
        """Draw the call of that number, always the same."""
        rng = random.Random(f"{seed}/{number}")
        while True:
            kernel = rng.choice(rng.choice(list(self.functions.values())))
            call = Drawing(rng, kernel, self.records[kernel.module]).call()
            if keeps_promises(call):
                return call

    def surface(self, call: Call, number: int) -> str:
        """Return the module to call by: every second positional call is PyTorch's, if it can be."""
        if call.by_keyword:
            return f"{self.name}.kwargs.{call.kernel.module}"
        operators = f"{self.name}.torch"
        if number % 2 and hasattr(importlib.import_module(operators), call.kernel.name):
            return operators
        return f"{self.name}.{call.kernel.module}"

    def attempt(self, call: Call, seed: str, surface: str) -> tuple[str, str | None]:
        """Make a call; return what came of it in a word, and what is wrong with that."""
        module = importlib.import_module(f"{self.name}.{call.kernel.module}")
        function = getattr(importlib.import_module(surface), call.kernel.name)
        memory = fresh_memory(call, seed)
        before = memory.copy()
        positional = [given.build(memory, module) for given in call.positional]
        named = {name: given.build(memory, module) for name, given in call.named.items()}
        try:
            result = function(*positional, **named)
        except REFUSALS as error:
            return "refused", self.judge_refusal(call, error, positional, named, memory, before)
        if result is not None:
            return "accepted", f"returned {result!r}"
        values = values_by_name(call, positional, named)
        variants = self.functions[call.kernel.name]
        return "accepted", judge_result(call, variants, values, memory, before)

    def judge_refusal(
        self,
        call: Call,
        error: Exception,
        positional: list[Any],
        named: dict[str, Any],
        memory: np.ndarray,
        before: np.ndarray,
    ) -> str | None:
        shown = f"{type(error).__name__}: {error}"
        if not np.array_equal(memory, before):
            return f"wrote to memory, and then refused: {shown}"
        if not call.suspects and not call.malformed:
            return f"refused a right call: {shown}"
        if any(is_refused_by_itself(value, error) for value in [*positional, *named.values()]):
            return None
        if str(error).startswith(f"{self.name}::{call.kernel.name}() "):
            return None  # with a tensor that is not plain it is PyTorch's operator, which takes no others
        if call.malformed or call.kernel.variant:
            return None if names_its_place(call, error) else f"the error does not say where it is: {shown}"
        misfit = fitting(call, call.kernel, values_by_name(call, positional, named), before)
        if not isinstance(misfit, Misfit):
            return f"refused what fits: {shown}"
        if not re.match(rf"{re.escape(misfit.path)}(\.(shape|strides)\[\d+\]|\[\d+\])? is ", str(error)):
            return f"the error is not about {misfit.path}, which does not fit: {shown}"
        return None


def keeps_promises(call: Call) -> bool:
    """Return whether addresses are aligned and enough lies behind them: callers see to that themselves."""
    pointers = {p.name: p.slot for p in call.kernel.parameters if isinstance(p.slot, PointerSlot)}
    if not pointers:
        return True
    values = {n: g.build(NOTHING, None) if isinstance(g, Value) else g for n, g in call.given.items()}
    if not all(isinstance(values[name], NO_ADDRESSES) for name in pointers):
        return False
    for name, slot in pointers.items():
        given = call.given[name]
        if not is_aligned(given, slot) and not (isinstance(given, Pointer) and given.form == "tensor"):
            return False
    reach = REACH[call.kernel.name](**values)
    if isinstance(reach, numbers.Integral):
        return int(reach) <= min(reachable(call.given[name]) for name in pointers)
    return not isinstance(reach, Pointer)


def fresh_memory(call: Call, seed: str) -> np.ndarray:
    """Return the memory of a call, aligned: numbers where tensors are, and noise elsewhere."""
    rng = np.random.default_rng(zlib.crc32(f"{seed}/{call}".encode()))
    size = call.memory_size + 512
    raw = rng.integers(0, 256, size + 256, np.uint8)
    start = -raw.ctypes.data % 256
    memory = raw[start : start + size]
    for given in call.given.values():
        for tensor in tensors(given):
            view = tensor.view(memory)
            if view.dtype.kind in "fc":
                eighths = rng.integers(-64, 64, view.shape) / 8
                special = rng.random(view.shape) < 0.05
                view[...] = np.where(special, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0]), eighths)
            elif view.dtype.kind == "b":
                view[...] = rng.random(view.shape) < 0.5
    return memory


def judge_result(
    call: Call, variants: list[Kernel], values: dict[str, Any], memory: np.ndarray, before: np.ndarray
) -> str | None:
    """Compare all memory with what the reference makes of what was there before the call."""
    if call.malformed:
        return "accepted a list with too few or too many arguments, or an unknown one"
    # One variant has to accept it, not always the one that it was drawn for. Which does not matter to the
    # reference, which computes the same for each.
    misfits = []
    for variant in variants:
        arguments = fitting(call, variant, values, before)
        if not isinstance(arguments, Misfit):
            break
        misfits.append(arguments.reason)
    else:
        return " / ".join(misfits)
    reference = REFERENCES.get(call.kernel.name)
    if reference is None:
        return None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reference(*arguments)
        except IndexError:  # a bool that does for a number reads one element of none: nobody counts them
            return None
    for given in call.given.values():
        for tensor in tensors(given):
            level_nans(tensor.view(memory), tensor.view(before))
    wrong = np.flatnonzero(memory != before)
    return f"memory differs from the reference at bytes {wrong.tolist()}" if len(wrong) else None


class Misfit(NamedTuple):
    """What does not fit."""

    path: str
    """Of the parameter, or an item of it, as an error names it."""
    reason: str


def fitting(call: Call, kernel: Kernel, values: dict[str, Any], before: np.ndarray) -> list[Any] | Misfit:
    """Return what the reference gets, or the first thing that does not fit."""
    oracle = Oracle(before, by_keyword=call.by_keyword)
    arguments = []
    for parameter in kernel.parameters:
        name, given = parameter.name, call.given[parameter.name]
        value = parameter.default.value if given is None and parameter.default else values[name]
        value = bool(value) if isinstance(value, np.bool_) else value  # the call is made again with that
        try:
            arguments.append(oracle.argument(parameter.slot, given or Given(), value))
        except MisfitError as misfit:
            return Misfit(name + misfit.path, f"accepted {name}{misfit.path}, which does not fit: {misfit}")
        except (TypeError, ValueError, AttributeError) as error:
            return Misfit(name, f"accepted {name}, which does not fit: {error!r}")
    return arguments


def values_by_name(call: Call, positional: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    return dict(zip([p.name for p in call.kernel.parameters], positional, strict=False)) | named


def level_nans(mine: np.ndarray, expected: np.ndarray) -> None:
    """Let all numbers that are none on both sides have the same bits."""
    if mine.dtype.kind in "fc":
        both = np.isnan(mine) & np.isnan(expected)
        mine[both] = expected[both] = np.nan


def names_its_place(call: Call, error: Exception) -> bool:
    """Return whether an error names one of the parameters that it may be about, by name or by place."""
    said = re.sub(r"when calling: `.*?`", "", str(error), flags=re.DOTALL)
    if call.malformed and re.search(MALFORMED, said):
        return True
    if said.startswith("No variant accepts (") and call.kernel.variant:
        return True  # it says all that was passed, and next to it what would do
    # A family's selectors have been made use of when a variant complains.
    names = {p.name for p in call.kernel.parameters if not isinstance(p.slot, ChoiceSlot)}
    # What is wrong in one place may make it a call of another variant, which others do not fit.
    suspects = names if call.kernel.variant and call.suspects else call.suspects
    return not suspects.isdisjoint(re.findall(r"\w+", said))


def is_refused_by_itself(value: Any, error: Exception) -> bool:
    """Return whether tvm-ffi takes a value nowhere, because the object itself refuses with this error."""
    if isinstance(value, tuple | list) or hasattr(value, "__dataclass_fields__"):
        return any(is_refused_by_itself(item, error) for item in given_values(value))
    try:
        _take(value)
    except type(error) as own:
        return str(own).splitlines()[:1] == str(error).splitlines()[:1]
    except Exception:
        return False
    return False


def main() -> None:
    warnings.simplefilter("ignore")
    folder, seed, first, *rest = sys.argv[1:]
    package = Package(Path(folder))
    if not rest:
        print(package.draw(seed, int(first)))
        return
    last, progress_file = rest
    seen: Counter[str] = Counter()
    with Path(progress_file).open("r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        for number in range(int(first), int(last)):
            call = package.draw(seed, number)
            progress[:] = struct.pack("<q", number)
            surface = package.surface(call, number)
            outcome, problem = package.attempt(call, seed, surface)
            seen[outcome] += 1
            if problem:
                shown = f"{surface}: {call}"
                print(json.dumps({"number": number, "call": shown, "problem": problem}), flush=True)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
