"""`python -m svc_reporter` is the command `svc-reporter`."""

from ._cli.command import main

raise SystemExit(main())
