"""The command `svc-agent`, also as `python -m svc_agent`."""

import sys


def main() -> int:
    if not sys.platform.startswith("linux"):
        print(
            f"svc-agent runs on Linux (on Windows in WSL), not on {sys.platform}: "
            "it must know each process that it stops for certain, which it learns from /proc",
            file=sys.stderr,
        )
        return 1
    from ._cli import main as run  # needs modules that only Unix has

    return run()


if __name__ == "__main__":
    raise SystemExit(main())
