"""SQL text in, statements out: tokens, the grammar's statement skeletons, scripts, and the markers
for parameters.

The doors: ``parse.parse`` (one statement's text to a Statement), ``script.split``,
``script.is_complete`` and ``script.substitute`` (scripts, ``${variables}``),
``parameters.bind_parameters`` (``?``, ``:name``), ``show.show`` (a Statement as a tree to read).
grammar/README.md says how a statement is read.
"""
