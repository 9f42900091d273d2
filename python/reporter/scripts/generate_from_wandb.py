"""Writes the tables of docs/from-wandb.md from src/svc_reporter/_shared/from_wandb.json. With --check it only compares.

python scripts/generate_from_wandb.py [--check]
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "svc_reporter"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "from-wandb.md"
SECTIONS = {
    "names": ("Names of the module", "wandb."),
    "init": ("Keywords of `init`", ""),
    "calls": ("Keywords of other calls", ""),
    "run": ("The run", "run."),
    "variables": ("Variables", ""),
}
BEGIN, END = "<!-- generated: names -->", "<!-- end of generated -->"


def tables() -> str:
    rows = json.loads((PACKAGE / "_shared" / "from_wandb.json").read_text("utf-8"))
    parts = []
    for section, (title, prefix) in SECTIONS.items():
        lines = [f"### {title}", "", "| W&B | Here |", "|---|---|"]
        for row in rows[section]:
            instead = f": {row['instead']}" if row.get("instead") else ""
            lines.append(f"| `{prefix}{row['wandb']}` | {row['here']}{instead} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def rewritten(page: str) -> str:
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE} has no {BEGIN} … {END}")
    made = f"{BEGIN}\n\n{tables()}\n\n{END}"
    return pattern.sub(lambda _found: made, page)


def main() -> int:
    page = PAGE.read_text("utf-8")
    wanted = rewritten(page)
    if "--check" in sys.argv[1:]:
        return 0 if page == wanted else 1
    PAGE.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
