"""How hypothesis runs: the same examples every time, and no clock."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic",
    derandomize=True,
    database=None,
    deadline=None,
    # the first example of a structure compiles its kernels
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deterministic")
