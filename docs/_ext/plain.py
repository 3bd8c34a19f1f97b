"""Docstrings in the project's plain style, made into the markup that Sphinx reads.

Formulas are indented, names stand in single backticks, and arguments are lists whose second column
is the explanation, or sections underlined as scikit-learn has them. Nothing else means anything, so
that λ*, |p| and lam_ are what they are.
"""

import re

NAMED = re.compile(r"^([A-Za-z_]\w*(?:\([^)]*\))?(?:, [A-Za-z_]\w*)*) {2,}(\S.*)$")


def process(app, what, name, thing, options, lines):
    lines[:] = marked(lines)


def inline(text):
    """Code in backticks, single or double; all other characters as they are."""
    parts = text.replace("``", "`").split("`")
    if len(parts) % 2 == 0:
        parts = [text.replace("`", "'")]
    for k, part in enumerate(parts):
        plain = re.sub(r"([\\*|_<>])", r"\\\1", part)
        parts[k] = f"\\ ``{part.strip()}``\\ " if k % 2 else plain
    return "".join(parts)


def blocks(lines):
    """Runs of lines without a blank one."""
    run = []
    for line in [*lines, ""]:
        if line.strip():
            run.append(line.rstrip())
        elif run:
            yield run
            run = []


def indent(line):
    return len(line) - len(line.lstrip())


def marked(lines):
    made, section = [], False
    for block in blocks(lines):
        if len(block) > 1 and set(block[1]) == {"-"}:
            made += [f".. rubric:: {block[0]}", ""]
            section, block = True, block[2:]
        if not block:
            continue
        if block[0].lstrip().startswith(">>>"):
            depth = indent(block[0])
            made += [line[depth:] for line in block]
        elif all(indent(line) >= 4 for line in block):
            made += [".. code-block:: none", "", *("   " + line[4:] for line in block)]
        elif section:
            made += described(block)
        elif NAMED.match(block[0]):
            made += listed(block)
        elif block[0].startswith("- "):
            made += ["- " + inline(line[2:]) if line[:2] == "- " else "  " + inline(line.strip())
                     for line in block]  # fmt: skip
        else:
            made.append(inline(" ".join(line.strip() for line in block)))
        made.append("")
    return made


def entry(term, *said):
    """One item of a definition list."""
    told = [part for part in said if part]
    body = [line for part in told for line in ("   " + inline(part), "")]
    return [f"``{term}``", *(body or ["   \\ ", ""])]


def listed(block):
    """name   explanation, which may go on below."""
    items = []
    for line in block:
        found = NAMED.match(line)
        if found:
            items.append([found[1], found[2]])
        else:
            items[-1][1] += " " + line.strip()
    return [line for term, said in items for line in entry(term, said)]


def described(block):
    """name : kind, and below it, indented, what it is."""
    made, k = [], 0
    while k < len(block):
        head = block[k]
        while head.endswith(",") and k + 1 < len(block) and indent(block[k + 1]) == 0:
            k += 1
            head += " " + block[k]
        k += 1
        body = []
        while k < len(block) and indent(block[k]) > 0:
            body.append(block[k].strip())
            k += 1
        term, _, kind = head.partition(" : ")
        said = " ".join(body)
        if (said[:1].isupper() and not kind.startswith("as in")) or not kind:
            made += entry(term, kind, said)
        else:
            made += entry(term, f"{kind} {said}".strip())
    return made
