"""Property tests are seeded, so that a slice that was green stays green; `make test-full` draws
anew. No test has a deadline: the machines are shared."""

from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow]
settings.register_profile("seeded", deadline=None, suppress_health_check=SLOW, derandomize=True)
settings.register_profile("full", deadline=None, suppress_health_check=SLOW, print_blob=True)
settings.load_profile("seeded")
