"""What the server of the worker processes imports, so that each of them has it from the start.

The collector stays off meanwhile, and then leaves alone what was imported: it would look through a million
objects again and again, and touch the memory that all workers share. As the server ends, nothing is torn
down.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os

gc.disable()
with contextlib.suppress(Exception):  # the first worker meets it too, and says what is wrong
    importlib.import_module("stubgen.compiler.worker.worker")
gc.freeze()
gc.enable()
atexit.register(os._exit, 0)
