"""Processes that compile, here or on a cluster; only its workers import the DSL.

``jobs`` is the language spoken with the worker processes, and all that the rest of the tool sees;
``executors`` says what compiles. Private names of the DSL are touched in ``worker.dsl`` alone.
"""
