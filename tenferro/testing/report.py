"""What a run of the conformance kit found."""

from dataclasses import asdict, dataclass, field

PASSED, FAILED, PARTIAL, UNSUPPORTED = "passed", "failed", "partial", "unsupported"

FEW = 20
"""Below this number of rows, the text leaves out what an engine tells about other operations."""


@dataclass(frozen=True)
class Failure:
    """One thing that an engine does wrong.

    Attributes
    ----------
    operation : str
        The operation, or what belongs to none: ``"engine"``.
    check : str
        What was checked: ``"values"``, ``"shapes"``, ``"dtypes"``, ``"errors"``, ``"inputs"``, ``"determinism"``,
        ``"gradients"``, ``"mixing"``, ``"recovery"``, ``"threads"`` or ``"identity"``.
    example : str
        The inputs, described.
    message : str
        What was expected and what came.
    code : str
        Statements that reproduce it.
    """

    operation: str
    check: str
    example: str
    message: str
    code: str

    def __str__(self):
        lines = [f"{self.operation}: {self.check}"]
        lines += [f"  inputs: {self.example}"] if self.example else []
        lines += [f"  {line}" for line in self.message.splitlines()]
        return "\n".join([*lines, f"  reproduce: {self.code}"])


@dataclass
class Row:
    """What was found about one operation.

    Attributes
    ----------
    operation : str
        Its name, or ``"engine"`` for what belongs to none.
    told : str or None
        What the engine's ``support()`` says about it.
    checks : int
        How many comparisons were made.
    computed : int
        In how many of them there were numbers to compare.
    unsupported : dict
        What was tried -> the message of the engine's ``UnsupportedError``.
    failures : list of Failure
    """

    operation: str
    told: str | None = None
    checks: int = 0
    computed: int = 0
    unsupported: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)

    @property
    def state(self):
        """``"passed"``, ``"failed"``, ``"unsupported"``, or ``"partial"`` for what is supported here and there."""
        if self.failures:
            return FAILED
        if self.unsupported:
            return PARTIAL if self.computed else UNSUPPORTED
        return PASSED


@dataclass
class Report:
    """The result of `check_engine`; its text is for people.

    Attributes
    ----------
    engine, kind : str
        The engine's.
    thorough : bool
    told : dict
        What its ``support()`` says: name of an operation, or of a primitive of the operation table -> words.
    rows : list of Row
        One for each operation, and one for the engine.
    seconds : float
    """

    engine: str
    kind: str
    thorough: bool = False
    told: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failures(self):
        """All failures, in the order in which they were found."""
        return [failure for row in self.rows for failure in row.failures]

    @property
    def ok(self):
        """Whether there is no failure. What the engine does not support is none."""
        return not self.failures

    def named(self, state):
        """Operations in a state."""
        return [row.operation for row in self.rows if row.state == state]

    def __str__(self):
        checks = sum(row.checks for row in self.rows)
        lines = [f"engine {self.engine!r} of kind {self.kind!r}: {'conforms' if self.ok else 'DOES NOT CONFORM'}",
                 f"{len(self.rows) - 1} operations, {checks} checks, {len(self.failures)} failures, {self.seconds:.1f} s"
                 f"{', thorough' if self.thorough else ''}"]
        named = {state: self.named(state) for state in (UNSUPPORTED, PARTIAL)}
        told = {row.operation: row.told for row in self.rows if row.told} if len(self.rows) < FEW else self.told
        for word in sorted({*told.values()}):
            named[f"told {word}"] = [op for op, said in told.items() if said == word]
        lines += [f"{what} ({len(names)}): {', '.join(names)}" for what, names in named.items() if names]
        for row in self.rows:
            if row.failures:
                lines += ["", str(row.failures[0])]
                lines += [f"  and {len(row.failures) - 1} more of this operation"] if len(row.failures) > 1 else []
        return "\n".join(lines)

    def as_data(self):
        """The report as plain data for JSON."""
        rows = [{**asdict(row), "state": row.state} for row in self.rows]
        return {"engine": self.engine, "kind": self.kind, "ok": self.ok, "thorough": self.thorough,
                "seconds": self.seconds, "told": self.told, "rows": rows}

    def raise_on_failure(self):
        """Raise AssertionError with this report as its message unless the engine conforms.

        Returns
        -------
        Report
            This one.
        """
        if not self.ok:
            raise AssertionError(str(self))
        return self
