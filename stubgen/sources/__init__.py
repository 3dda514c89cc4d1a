"""Which modules declare kernels and what each depends on, by their text; nothing is imported.

``files`` finds and reads files, ``parsed`` keeps what their text says, ``imports`` and ``search`` follow
their imports, ``modules`` makes a :class:`KernelModule` of each that leads to this tool. ``outline`` takes
modules apart into statements, for ``reach``. For ``list`` alone, ``scan`` takes in one file with libcst, and
``exports`` brings the scans of all files together. ``inputs`` is the account of what a run depends on.
"""
