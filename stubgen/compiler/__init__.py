"""The one room that knows the DSL.

``jobs`` is the language spoken with the worker processes, and all that the rest of the tool sees; ``pool``
runs the workers. What a worker does is in ``worker``: it imports kernel modules, turns declared arguments
into fake ones (``arguments``), finds what will not compile (``checks``, ``limits``), compiles, and reads the
ABI back (``abi``). ``errors`` reads what others raise. Only ``dsl`` touches private names of the DSL.
"""
