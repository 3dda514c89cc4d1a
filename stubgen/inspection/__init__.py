"""What a generated package holds, found out without importing or loading it."""

from stubgen.inspection.description import Description, FunctionDescription, describe
from stubgen.inspection.packages import find_library

__all__ = ["Description", "FunctionDescription", "describe", "find_library"]
