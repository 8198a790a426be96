"""Every test leaves guards, sessions, engines and threads as they were."""

from support import nothing_left_open  # noqa: F401
