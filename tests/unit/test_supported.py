"""The versions that the tool works with, wherever they are written down, and what it says of others."""

from __future__ import annotations

import itertools
import re
import sys

import msgspec
import pytest
from packaging.requirements import Requirement

from stubgen.build import versions
from stubgen.model.library import Versions
from stubgen.model.supported import DSL, TVM_FFI, Supported
from tests.conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTED = Versions("0.1.0", DSL.newest, TVM_FFI.newest, "zig")


@pytest.mark.parametrize("supported", [DSL, TVM_FFI], ids=lambda supported: supported.distribution)
def test_the_distribution_asks_for_them(supported: Supported) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {Requirement(given).name: Requirement(given) for given in project["dependencies"]}
    assert asked[supported.distribution] == Requirement(supported.requirement)
    assert supported.oldest in asked[supported.distribution].specifier
    assert supported.newest in asked[supported.distribution].specifier


@pytest.mark.parametrize("supported", [DSL, TVM_FFI], ids=lambda supported: supported.distribution)
def test_the_readme_names_them(supported: Supported) -> None:
    (section,) = re.findall(
        r"^## Versions$(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S
    )
    named = re.search(rf"{supported.distribution}\s+(\S+)\s+to\s+(\S+?)[.,;]?\s", section)
    assert named is not None
    assert named.groups() == (supported.oldest, supported.newest)


@pytest.mark.parametrize(
    ("field", "version"),
    [
        ("cutlass_dsl", DSL.oldest),
        ("cutlass_dsl", "4.8.0"),
        ("tvm_ffi", TVM_FFI.oldest),
        ("tvm_ffi", "0.1.13.post3"),
    ],
)
def test_nothing_is_said_of_versions_between_the_tested_ones(field: str, version: str) -> None:
    assert versions.untested(msgspec.structs.replace(TESTED, **{field: version})) == ()


@pytest.mark.parametrize(
    ("field", "version", "supported"),
    [
        ("cutlass_dsl", "4.6.3", DSL),
        ("cutlass_dsl", "4.8.2", DSL),
        ("cutlass_dsl", "4.9.0.dev1", DSL),
        ("cutlass_dsl", "built by hand", DSL),
        ("tvm_ffi", "0.1.3", TVM_FFI),
        ("tvm_ffi", "0.1.16", TVM_FFI),
        ("tvm_ffi", "0.2.0", TVM_FFI),
    ],
)
def test_a_warning_says_what_was_tested(field: str, version: str, supported: Supported) -> None:
    (warning,) = versions.untested(msgspec.structs.replace(TESTED, **{field: version}))
    assert warning.code == "CS607"
    assert f"{supported.distribution} {version} " in warning.message
    assert supported.oldest in warning.message
    assert supported.newest in warning.message
    assert f"pip install '{supported.distribution}=={supported.newest}'" in warning.remedy
    assert "\n" not in str(warning)


def test_no_resolver_can_go_back_to_a_release_of_years_ago() -> None:
    """What extras ask for by way of others has a bound of its own: s3fs 0.4 has none that fits fsspec's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    assert any(Requirement(text).name == "s3fs" for text in asked)
    assert [text for text in asked if not any(s.operator == ">=" for s in Requirement(text).specifier)] == []
