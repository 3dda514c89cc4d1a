"""From the model to text; nothing here touches the disk.

Each renderer is a function from a library to ``{relative path: text}``. Templates hold the shape of a file;
types, signatures and documentation are printed by the small functions of ``python_types``, ``cpp_types``,
``documentation`` and ``layout``, which languages share, and by those in the folder of each language.
"""
