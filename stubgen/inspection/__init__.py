"""What a generated package holds, found out without importing or loading it."""

from stubgen.inspection.differences import Difference, difference
from stubgen.inspection.integrity import verify
from stubgen.inspection.packages import find_library
from stubgen.render.description import Description, FunctionDescription, describe

__all__ = [
    "Description",
    "Difference",
    "FunctionDescription",
    "describe",
    "difference",
    "find_library",
    "verify",
]
