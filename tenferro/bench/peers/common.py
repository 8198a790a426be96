"""What most libraries have in common."""


def configure(threads, variant):
    """Thread counts come from the environment."""


def sync(out):
    """Nothing runs behind the caller's back."""


def flipped(x):
    return x.T[::2, ::-1]


def forward(f):
    return f


def update(p, g, rate):
    return [q - rate * d for q, d in zip(p, g)]
