"""`python -m svc_agent` is the command `svc-agent`."""

from ._cli import main

raise SystemExit(main())
