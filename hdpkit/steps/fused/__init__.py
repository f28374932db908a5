"""Faster sweeps for two kinds of models: topic models, and observed dishes.

A header contains the code of a sweep, and ``isa_*.cpp`` compile all of them for one instruction set each; a
``.pyx`` module calls it, and has what the sweep asks of the store. Sixteen lanes and a fixed order of
summation make the chain the same on all instruction sets. Each sweep is compiled for production (single
precision, the generator inlined) and, in the baseline only, for scripted sources (double precision, or single
precision to reproduce the numbers of production).

- `_fused_topics`: table Gibbs over two-level topic models (``topic_sweep.h``). It visits only the blocks
  of sixteen slots in which the document has dishes. Whatever needs the store (a table opens or closes, or is
  one of several) is done by `Sweep.answer`, which the sweep calls. Over counts a sweep begins with one table
  for each dish of a document and ends with draws of their numbers; in between the workspace has the counts of
  the current document, which are written to the store before the next document and before any call.
- `_fused_blocks`: dish Gibbs and the scans of split-merge, in double precision.
- `_fused_documents`: documents in parallel, given topics and weights of the root, over a store of counts;
  `hdpkit.moves.document_sweeps` has its labels.
  Threads share only integer counters, and the stream of a document is keyed by its number, so the result
  doesn't depend on which thread handles which document. By cell, where the customers of a document with the
  same term are interchangeable, there is no readable twin, nor with levels above the documents:
  ``tests/exact/test_cells.py`` and ``test_levels.py`` have their laws.
- `_fused_observed`: table Gibbs over observed dishes.

Single precision is accurate only in a range of hyperparameters (docs/correctness.md). Outside it, table Gibbs
uses the generic code, even if "fused" is forced: kernels ask ``in_floats`` of the bank.
"""
