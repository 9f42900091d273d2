"""`python -m svc_reporter` is the command `svc-reporter`."""

from ._cli import main

raise SystemExit(main())
