"""What runs in a worker process.

It imports kernel modules, turns declared arguments into fake ones (``arguments``), finds what will not
compile (``checks``, ``limits``), compiles, and reads the ABI back (``abi``). ``errors`` reads what others
raise.
"""
