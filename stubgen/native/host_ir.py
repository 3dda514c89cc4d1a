"""What is added to the LLVM IR of a compiled function: another symbol, and errors that say more."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stubgen.abi.symbols import EXPLAIN
from stubgen.model.library import tvm_ffi_symbol
from stubgen.problems.problem import StubgenError, problem

_CHECKED = "cute_stubgen_checked"
"""What the compiled function is called within its object; it is inlined into the one that has its symbol."""

_EXPLAINED = f"""
@cute_stubgen_description = private unnamed_addr constant [%(size)d x i8] c"%(description)s"

declare hidden i32 @{EXPLAIN}(i32, ptr, i32, ptr) cold

define i32 @%(symbol)s(ptr %%self, ptr %%args, i32 %%count, ptr %%result) {{
  %%code = call i32 @{_CHECKED}(ptr %%self, ptr %%args, i32 %%count, ptr %%result) alwaysinline
  %%succeeded = icmp eq i32 %%code, 0
  br i1 %%succeeded, label %%done, label %%failed, !prof !{{!"branch_weights", i32 2000, i32 1}}

done:
  ret i32 0

failed:
  %%explained = tail call i32 @{EXPLAIN}(i32 %%code, ptr %%args, i32 %%count, ptr @cute_stubgen_description)
  ret i32 %%explained
}}
"""


class IR(Protocol):
    """LLVM IR as text, wherever it is kept."""

    @property
    def digest(self) -> str:
        """Of the text."""
        ...

    def read(self) -> bytes:
        """Return the text.

        Raises
        ------
        StubgenError
            CS405 or CS413 if it is not there any more.
        """
        ...


@dataclass(frozen=True)
class IRFile:
    """LLVM IR in a file of this run."""

    path: Path

    @property
    def digest(self) -> str:
        """Of the file's content."""
        return hashlib.sha256(self.read()).hexdigest()

    def read(self) -> bytes:
        """Return the file's content."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise StubgenError(problem("CS405", path=self.path, reason=error.strerror)) from None


def completed(ir: bytes, name: str, description: str | None, alias: str | None) -> bytes:
    """Return IR with what is added to it.

    Parameters
    ----------
    ir
        LLVM IR as text.
    name
        What tvm-ffi knows the function by.
    description, alias
        As for :func:`with_explained_errors` and :func:`with_alias`, if at all.
    """
    if description is not None:
        ir = with_explained_errors(ir, name, description)
    return ir if alias is None else with_alias(ir, name, alias)


def added(name: str, description: str | None, alias: str | None) -> bytes:
    """Return all that :func:`completed` would add: what it makes of a function without a body."""
    return completed(f"define i32 @{tvm_ffi_symbol(name)}()\n".encode(), name, description, alias)


def with_alias(ir: bytes, name: str, alias: str) -> bytes:
    """Return IR that gives a compiled function another symbol; it has to be in the same object.

    Parameters
    ----------
    ir
        LLVM IR as text.
    name
        What tvm-ffi knows the function by.
    alias
        The symbol.
    """
    text = f"\n@{alias} = alias i32 (ptr, ptr, i32, ptr), ptr @{tvm_ffi_symbol(name)}\n"
    return ir + text.encode()


def with_explained_errors(ir: bytes, name: str, description: str) -> bytes:
    """Return IR of a function whose errors say what was passed; see :mod:`stubgen.render.native.refusals`.

    A call that succeeds costs what it did, because the compiled function becomes a part of the one that asks.

    Parameters
    ----------
    ir
        LLVM IR as text.
    name
        What tvm-ffi knows the function by.
    description
        Of the function.
    """
    symbol = tvm_ffi_symbol(name)
    start = re.compile(rb"^define ([^\n@]*)@%b\(" % symbol.encode(), re.MULTILINE)
    checked, count = start.subn(rb"define internal \1@%b(" % _CHECKED.encode(), ir, 1)
    if count == 0:
        raise ValueError(f"no function {symbol} in the IR")
    data = description.encode() + b"\0"
    words = {"size": len(data), "description": _escaped(data), "symbol": symbol}
    return checked + (_EXPLAINED % words).encode()


def _escaped(data: bytes) -> str:
    """Return bytes as LLVM writes them in a string."""
    plain = set(range(32, 127)) - set(b'"\\')
    return "".join(chr(byte) if byte in plain else f"\\{byte:02X}" for byte in data)
