"""The command `svc-agent`, also as `python -m svc_agent`."""

import sys


def main() -> int:
    if not sys.platform.startswith("linux"):
        print(
            f"svc-agent runs on Linux (on Windows in WSL), not on {sys.platform}: "
            "it needs /proc to identify the processes that it stops",
            file=sys.stderr,
        )
        return 1
    from ._cli import main as run  # imports modules that exist only on Unix

    return run()


if __name__ == "__main__":
    raise SystemExit(main())
