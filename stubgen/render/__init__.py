"""From the model to text.

Each renderer is a function from a :class:`~stubgen.model.Library` to ``{relative path: text}``; none touches
the disk. Templates hold the shape of a file; types, signatures and documentation are printed by
the small functions of ``python_types``, ``cpp_types``, ``c_values``, ``documentation`` and ``layout``.
"""
