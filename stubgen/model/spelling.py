"""How the names in a model are spelled.

A model may come out of a file that anyone has written, and its names become paths, identifiers and words of
other languages as they are. msgspec compares them with these patterns where it decodes a model. Texts that
may be anything, such as docstrings, are plain ``str``: they are escaped for the language they go to.
"""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from msgspec import Meta

Name: TypeAlias = Annotated[str, Meta(pattern=r"\A[^\W\d]\w*\Z")]
"""An identifier in Python, such as that of a parameter; it need not be ASCII."""

ModuleName: TypeAlias = Annotated[str, Meta(pattern=r"\A[^\W\d]\w*(\.[^\W\d]\w*)*\Z")]
"""Identifiers with dots between them."""

CName: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z")]
"""An identifier in C as well, such as that of a function or a package."""

PackageName: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z", max_length=200)]
"""What folders and files are called by, which can have 255 bytes."""

LinkerSymbol: TypeAlias = Annotated[str, Meta(pattern=r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z")]
"""A symbol, or nothing."""

BuildId: TypeAlias = Annotated[str, Meta(pattern=r"\A([0-9a-f]{12})?\Z")]
"""What :mod:`stubgen.abi.identity` makes, or nothing."""

Label: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_]+\Z")]
"""A part of an identifier."""

ArchName: TypeAlias = Annotated[str, Meta(pattern=r"\Asm_[0-9]+[af]?\Z")]
"""A GPU architecture, such as ``sm_90a``."""

DTypeName: TypeAlias = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]*\Z")]
"""An element type as tvm-ffi calls it, such as ``float4_e2m1fnx2``."""

VERSION = re.compile(r"\A[0-9A-Za-z][0-9A-Za-z.!+_-]*\Z")

VersionText: TypeAlias = Annotated[str, Meta(pattern=VERSION.pattern)]
"""A version as Python has them; nothing in it means anything to CMake, pkg-config or TOML."""

GlibcVersion: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9]+(\.[0-9]+)*\Z")]
"""Numbers with dots between them."""

DistributionName: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\Z")]
"""What pip calls a package."""

Requirement: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._\[\]<>=!~,* -]*\Z")]
"""What pip finds a package by."""

RelativePath: TypeAlias = Annotated[
    str, Meta(pattern=r"\A(?!(?:[^/]+/)*\.\.?(?:/|\Z))[A-Za-z0-9._+-]+(/[A-Za-z0-9._+-]+)*\Z")
]
"""A path of a file that a generated package looks for, below some folder."""

Count: TypeAlias = Annotated[int, Meta(ge=1, le=2**63 - 1)]
"""At least one, and no more than 64 bits hold."""
