"""The software bill of materials, in the form of CycloneDX 1.6.

It says what is in the package, with hashes, and what it needs. It has no date and no random number in it, so
that the same sources give the same file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from stubgen.model.library import Library
from stubgen.output.manifest import sha256


def sbom(library: Library, files: Mapping[str, bytes], versions: Mapping[str, str]) -> str:
    """Return the bill of materials of a package.

    Parameters
    ----------
    library
        What was generated.
    files
        The generated files, by path.
    versions
        Of the distributions that parts of the library come from, by name.
    """
    loaded = {"apache-tvm-ffi": library.versions.tvm_ffi}
    if library.shared_runtime:
        loaded[library.shared_runtime.distribution] = library.shared_runtime.version
    needs = [
        _distribution(name, version, "library", "loaded at run time") for name, version in loaded.items()
    ]
    inside = [
        _distribution(name, version, "library", "linked into the shared library")
        for name, version in sorted(versions.items())
    ]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "library", "bom-ref": library.package, "name": library.package},
            "tools": {"components": _tools(library)},
        },
        "components": [*needs, *inside, *(_file(path, data) for path, data in sorted(files.items()))],
        "dependencies": [
            {"ref": library.package, "dependsOn": [part["bom-ref"] for part in (*needs, *inside)]}
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _tools(library: Library) -> list[dict[str, object]]:
    versions = library.versions
    return [
        {"type": "application", "name": "cute-stubgen", "version": versions.cute_stubgen},
        {"type": "application", "name": "nvidia-cutlass-dsl", "version": versions.cutlass_dsl},
        {"type": "application", "name": "toolchain", "version": versions.toolchain},
    ]


def _distribution(name: str, version: str, kind: str, description: str) -> dict[str, object]:
    url = f"pkg:pypi/{name}@{version}"
    return {
        "type": kind,
        "bom-ref": url,
        "name": name,
        "version": version,
        "description": description,
        "purl": url,
    }


def _file(path: str, data: bytes) -> dict[str, object]:
    hashes = [{"alg": "SHA-256", "content": sha256(data)}]
    return {"type": "file", "bom-ref": f"file:{path}", "name": path, "hashes": hashes}
