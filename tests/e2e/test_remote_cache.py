"""A cache in S3, spoken to over its real protocol: moto's server, on this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.tiny import EVERYTHING, Project, traced

BUCKET = "kernels"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Bucket:
    """What the server keeps."""

    def __init__(self, address: str) -> None:
        self.environment = {**CREDENTIALS, "AWS_ENDPOINT_URL": address}
        self._client = boto3.client(
            "s3",
            endpoint_url=address,
            aws_access_key_id="any",
            aws_secret_access_key="any",
            region_name="us-east-1",
        )
        self._client.create_bucket(Bucket=BUCKET)

    def entries(self) -> dict[str, bytes]:
        found = self._client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {item["Key"]: self.read(item["Key"]) for item in found}

    def read(self, key: str) -> bytes:
        data: bytes = self._client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return data

    def write(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket=BUCKET, Key=key, Body=data)


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield Bucket(f"http://{host}:{port}")
    server.stop()


def machine(folder: Path, environment: dict[str, str], url: str = f"s3://{BUCKET}/shared") -> Project:
    """A project with a cache folder of its own."""
    made = Project(folder)
    made.configure(f'cache = "{url}"')
    made.environment |= environment
    return made


def test_what_one_machine_compiles_another_has(bucket: Bucket, tmp_path: Path) -> None:
    first = machine(tmp_path / "first", bucket.environment)
    assert first.generate() == EVERYTHING
    entries = bucket.entries()
    assert entries
    assert all(key.startswith("shared/") and key.endswith(".entry") for key in entries)

    second = machine(tmp_path / "second", bucket.environment)
    assert second.generate() == []
    assert second.output() == first.output()
    assert bucket.entries() == entries, "what was there is left alone"

    for key, data in entries.items():
        bucket.write(key, data[: len(data) // 2])
    third = machine(tmp_path / "third", bucket.environment)
    assert third.generate() == EVERYTHING, "damaged entries are none"
    assert third.output() == first.output()
    mended = bucket.entries()
    assert mended.keys() == entries.keys()
    changed = [key for key, data in mended.items() if data != entries[key]]
    assert len(changed) == 2, "they are replaced; how long each module took was something else this time"

    (third.folder / "generated" / "cute_kernels" / "first.pyi").unlink()
    unplugged = third.run("generate", AWS_ENDPOINT_URL="http://127.0.0.1:1")
    assert traced(unplugged) == [], "the folder in front of the bucket has it all"
    assert "CS610" not in unplugged.stderr


@pytest.fixture(scope="module")
def closed() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield "http://{}:{}".format(*bound.getsockname())


def test_a_store_that_cannot_be_reached_costs_a_warning(closed: str, tmp_path: Path) -> None:
    project = machine(tmp_path, {**CREDENTIALS, "AWS_ENDPOINT_URL": closed})
    done = project.run("generate")
    assert done.returncode == 0, done.stderr
    assert traced(done) == EVERYTHING
    (warning,) = [line for line in done.stderr.splitlines() if line.startswith("warning")]
    assert warning.startswith(f"warning: CS610: the cache s3://{BUCKET}/shared is not used in this run: ")
    again = project.run("generate")
    assert "warning" not in again.stderr, "the next run has nothing to ask it"


def test_a_bucket_that_is_not_there_is_not_made(bucket: Bucket, tmp_path: Path) -> None:
    project = machine(tmp_path, bucket.environment, "s3://nobodys/prefix")
    done = project.run("generate")
    assert done.returncode == 0, done.stderr
    assert "whether this machine may write there" in done.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nowhere://x", "error: CS121: cache = 'nowhere://x' names no kind of store"),
        ("gs://bucket", "error: CS120: cache = 'gs://bucket' needs a package for gs, which is not installed"),
    ],
)
def test_urls_that_nothing_can_read(url: str, said: str, tmp_path: Path) -> None:
    done = machine(tmp_path, {}, url).run("generate")
    assert done.returncode == 1
    assert done.stderr.startswith(said)


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path) -> None:
    (tmp_path / "hidden" / "fsspec").mkdir(parents=True)
    (tmp_path / "hidden" / "fsspec" / "__init__.py").write_text("raise ImportError('hidden')")
    project = machine(tmp_path / "project", {})
    path = os.pathsep.join([str(tmp_path / "hidden"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = project.run("generate", PYTHONPATH=path)
    assert done.returncode == 1
    assert "needs fsspec, which is not installed: hidden" in done.stderr
    assert "pip install 'cute-stubgen[remote]'" in done.stderr


def test_a_file_system_with_folders(tmp_path: Path) -> None:
    """Any other kind that fsspec has will do; the folder itself must exist, as a bucket must."""
    shared = tmp_path / "shared"
    shared.mkdir()
    first = machine(tmp_path / "first", {}, f"file://{shared}")
    second = machine(tmp_path / "second", {}, f"file://{shared}")
    assert first.generate() == EVERYTHING
    assert second.generate() == []
    assert second.output() == first.output()
