"""The paper's experiments: what is run (cases, methods), the runs, and what is made of their rows.

    python benchmarks/paper --help

cases.py    data sets as problems: what the paper has, and small ones that need no file
methods.py  HOAG with four sequences, grid, random, SMBO, iterative differentiation, ours
truth.py    f(λ) solved tightly, outside every count
runs.py     one run is one file of rows; finished runs are not run again
rows.py     reading them: suboptimality, who was first
claims.py   what the paper says, and whether the rows agree
figures.py  pictures from rows; nothing is computed here
page.py     what is written on one page
sheets.py   as HTML, and as Markdown
reproduce.py  the command
"""
