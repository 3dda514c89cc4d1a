"""What a generated package holds, found out without importing or loading it."""

from stubgen.inspection.differences import Difference, difference
from stubgen.inspection.inspected import Inspected, inspect
from stubgen.inspection.integrity import verify
from stubgen.inspection.packages import find_library
from stubgen.inspection.stubs import Stubs, write_stubs
from stubgen.render.description import Description, FunctionDescription, describe

__all__ = [
    "Description",
    "Difference",
    "FunctionDescription",
    "Inspected",
    "Stubs",
    "describe",
    "difference",
    "find_library",
    "inspect",
    "verify",
    "write_stubs",
]
