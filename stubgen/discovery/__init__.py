"""What the kernel modules of a project hold, read from their text; nothing of the user's is imported.

``files`` finds and reads files, ``parsed`` keeps what their text says, ``imports`` and ``search`` follow
their imports, ``modules`` makes a :class:`KernelModule` of each that leads to this tool. ``outline`` takes
modules apart into statements, for :mod:`stubgen.reach`. For ``list`` alone, ``scan`` takes in one file with
libcst, and ``exports`` brings the scans of all files together.
"""
