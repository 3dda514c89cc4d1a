"""Configuration, command line, environment: CS1xx."""

from __future__ import annotations

from stubgen.problems.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "CS101": Entry(
        "{file} is not valid: {reason}",
        "correct the file; docs/configuration.md lists every key of [tool.cute-stubgen]",
        """\
All settings stand under `[tool.cute-stubgen]` in the project's `pyproject.toml`.

    archs = "sm_90a"       # wrong: a string
    archs = ["sm_90a"]     # right: a list""",
    ),
    "CS102": Entry(
        "no GPU architecture is given for {kernels}",
        'pass --arch sm_90a, or set archs = ["sm_90a"] under [tool.cute-stubgen]',
        "Without one the compiler would silently pick whatever it finds on the machine, or sm_100a where "
        "it finds nothing. Functions without a GPU kernel need no architecture.",
    ),
    "CS103": Entry(
        "unknown GPU architecture {arch!r}{hint}",
        "use one that the installed DSL knows: {known}",
    ),
    "CS104": Entry(
        "{package!r} cannot be the name of the generated package: {reason}",
        "choose a lower-case Python identifier that is also a C identifier",
    ),
    "CS105": Entry(
        "the installed {distribution} {version} is not one that this tool knows",
        "install {distribution}{wanted}",
        "The tool touches private corners of the DSL in one file, which is checked against the versions "
        "that it was tested with.",
    ),
    "CS106": Entry(
        "{distribution} is not installed, or cannot be imported: {reason}",
        "install it: pip install '{requirement}'",
    ),
    "CS107": Entry(
        "{arch} and {other} are the same architecture under two names",
        "give it once",
    ),
    "CS108": Entry(
        "the output folder {output} {overlap} {kernels}, which kernels are read from",
        "choose a folder of its own: --output, or output under [tool.cute-stubgen]",
        "What is generated would be read as kernel modules by the next run, or take the kernels' place.",
    ),
    "CS109": Entry(
        "the output folder {output} is the project's own, whose pyproject.toml the package's would replace",
        "choose a folder of its own: --output, or output under [tool.cute-stubgen]",
    ),
    "CS110": Entry(
        "the package {package} also holds {modules}, and would lose that",
        "give no modules: what has not changed is not compiled again; for a package of these modules alone, "
        "choose another folder with --output",
    ),
    # CS12x and CS13x: other machines.
    "CS120": Entry(
        "{what} needs {package}, which is not installed: {reason}",
        "install it: pip install '{requirement}'",
        "What only some need is not installed with the tool. The file systems of fsspec that are not S3 "
        "come in packages of their own, such as gcsfs and adlfs.",
    ),
    "CS121": Entry(
        "cache = {url!r} names no kind of store that is known",
        'use a folder, or a URL that fsspec knows, such as "s3://bucket/prefix"',
    ),
    "CS122": Entry(
        "there is no Dask scheduler at {address}: {reason}",
        "see whether it runs, and whether this machine reaches it; the address is what dask scheduler prints",
    ),
    "CS123": Entry(
        "no worker of the Dask cluster at {address} has answered in {seconds} s",
        "start workers: dask worker {address}; for workers that take longer to start, set cluster-timeout",
        "A worker counts while the scheduler hears from it. What a silent one had is given to others.",
    ),
    "CS124": Entry(
        "the Dask worker {worker} has {differences}",
        "install there what is installed here: a kernel compiled with other versions may be another one",
        "Compared are Python's minor version, cute-stubgen, the DSL, tvm-ffi, and every package that kernel "
        "modules import.",
    ),
    "CS125": Entry(
        "{what} did not come back from the Dask cluster: {reason}",
        "look into the log of the worker; where workers are lost for lack of memory, give each fewer threads",
        "It was tried three times, by different workers where there are several.",
    ),
    "CS126": Entry(
        "the Dask scheduler at {address} is gone: {reason}",
        "see why it has ended, or does not answer, and run again; what was compiled is kept",
    ),
    "CS127": Entry(
        "no worker of the Dask cluster at {address} can be used: {reason}",
        "make room on their disks, or start other workers",
    ),
    "CS128": Entry(
        "no file fits {pattern!r} in data",
        "correct data under [tool.cute-stubgen]; it holds patterns relative to the project, such as "
        '"kernels/tables/*.json"',
    ),
    "CS129": Entry(
        "the sources and data files that travel to Dask workers take {size} MB, more than {limit} MB",
        "name fewer files in data",
    ),
    "CS130": Entry(
        "{given!r} is no shard",
        "give its number and how many there are, such as --shard 2/8; the first is 1/8, the last 8/8",
    ),
    "CS131": Entry(
        "{path} holds no shard: {reason}",
        "give what cute-stubgen generate --shard has written, or folders that hold it",
    ),
    "CS132": Entry(
        "the shards lack {what}; {why}",
        "generate every shard, all from the same sources, with the same versions and options, and merge them",
        "Merging compiles nothing. Each shard has the declarations of all modules, and its part of the "
        "kernels, found by the hash of all that shapes them.",
    ),
    "CS133": Entry(
        "{path} and {first} are not of the same run: {reason}",
        "merge only shards of one run; take the files of earlier runs out of the folder",
    ),
    "CS134": Entry(
        "no lock can be had for writing {output}: {reason}",
        "give this user a home that it can write to, or set TMPDIR to a folder that it can write to",
        "Runs into one folder wait for each other. The lock is a file in the user's cache folder, or else "
        "among the temporary files.",
    ),
    "CS135": Entry(
        "the standard output cannot be written: {reason}",
        "make room where it goes to; what the command was to do, other than print, is done",
    ),
    "CS136": Entry(
        "{name} in pyproject.toml is {now!r}, and was {then!r} when the shards were compiled",
        "compile the shards again, or merge them with the pyproject.toml that they were compiled with",
    ),
    "CS137": Entry(
        "{path} holds no times of kernels: {reason}",
        "give the file that cute-stubgen merge --times has written, or none",
    ),
}
