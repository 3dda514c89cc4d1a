"""Which GPU runs what was built for which architecture."""

from __future__ import annotations

import pytest

from stubgen.model import archs


@pytest.mark.parametrize(
    ("arch", "runs_on", "not_on"),
    [
        ("sm_80", (80, 86, 89), (75, 87, 90, 100)),
        ("sm_86", (86, 89), (80, 87)),
        ("sm_87", (87,), (86, 89)),
        ("sm_90", (90,), (89, 100)),
        ("sm_90a", (90,), (89, 100, 91)),
        ("sm_100", (100, 103), (90, 110, 120)),
        ("sm_100a", (100,), (103, 110)),
        ("sm_100f", (100, 103), (90, 110, 120)),
        ("sm_103f", (103,), (100,)),
        ("sm_101a", (101, 110), (100, 103)),
        ("sm_110a", (101, 110), (100, 120)),
        ("sm_120a", (120,), (121,)),
        ("sm_120f", (120, 121), (110, 130)),
        ("sm_120", (120, 121, 129), (130,)),  # GPUs of the same major version that nobody has heard of yet
    ],
)
def test_runs_on(arch: str, runs_on: tuple[int, ...], not_on: tuple[int, ...]) -> None:
    parsed = archs.parse(arch)
    assert [device for device in (*runs_on, *not_on) if parsed.runs_on(device)] == list(runs_on)


def test_the_gpus_that_there_are() -> None:
    assert archs.DEVICES == (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)


@pytest.mark.parametrize("name", ["", "90a", "sm_", "sm_90b", "sm_90aa", "SM_90", "sm_90a ", "compute_90"])
def test_what_is_no_architecture(name: str) -> None:
    with pytest.raises(ValueError, match="is no GPU architecture"):
        archs.parse(name)


@pytest.mark.parametrize(
    ("names", "device", "expected"),
    [
        (("sm_80", "sm_86", "sm_90a"), 86, "sm_86"),
        (("sm_80", "sm_86", "sm_90a"), 89, "sm_86"),
        (("sm_90", "sm_90a"), 90, "sm_90a"),
        (("sm_100", "sm_100f", "sm_100a"), 100, "sm_100a"),
        (("sm_100", "sm_100f", "sm_100a"), 103, "sm_100f"),
        (("sm_100f", "sm_103"), 103, "sm_103"),
        (("sm_80", "sm_90a"), 100, None),
        ((), 90, None),
    ],
)
def test_best(names: tuple[str, ...], device: int, expected: str | None) -> None:
    assert archs.best(names, device) == expected
    assert archs.best(reversed(names), device) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((), ("sm_90a",), True),
        (("sm_80",), ("sm_89",), True),
        (("sm_80",), ("sm_87",), False),
        (("sm_80",), ("sm_90a",), False),
        (("sm_100f",), ("sm_103a",), True),
        (("sm_100a",), ("sm_103a",), False),
        (("sm_101a",), ("sm_110a",), True),
        (("sm_105",), ("sm_106",), True),
    ],
)
def test_share_a_device(first: tuple[str, ...], second: tuple[str, ...], expected: bool) -> None:
    assert archs.share_a_device(first, second) is expected
    assert archs.share_a_device(second, first) is expected
