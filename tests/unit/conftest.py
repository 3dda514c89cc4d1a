"""What unit tests share: each has the user's folders that its environment says."""

from __future__ import annotations

import pytest

from stubgen.system import folders


@pytest.fixture(autouse=True)
def own_folders() -> None:
    """Forget which folders could be written; a test may have named others since."""
    folders.writable_or_temporary.cache_clear()
