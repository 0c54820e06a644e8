"""What is measured of matrices bounds what they do, on random vectors."""

from __future__ import annotations

import numpy as np

from softhat.proof.dense.matrices import frobenius, head_values, reading, spectral, widened


def test_norms_bound_products() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        matrix = rng.standard_normal((int(rng.integers(1, 8)), int(rng.integers(1, 8))))
        x = rng.standard_normal(matrix.shape[1])
        assert np.linalg.norm(matrix @ x) <= spectral(matrix) * np.linalg.norm(x)
        assert spectral(matrix) <= frobenius(matrix) * (1 + 1e-9)
    assert spectral(np.zeros((0, 3))) == 0


def test_values_are_what_is_written_but_for_what_was_measured() -> None:
    rng = np.random.default_rng(2)
    d, variables, size, used = 10, 7, 6, 3
    for noise in (0.0, 1e-3):
        u = np.linalg.qr(rng.standard_normal((d, variables)))[0]
        rows = np.linalg.qr(rng.standard_normal((size, size)))[0][:used]
        form = rng.standard_normal((variables + 1, used))
        form[-1] = 0.0
        written = rng.standard_normal((used, variables))
        matrix = np.vstack([u @ form[:-1] @ rows, np.zeros(size)])
        matrix[:-1] += noise * rng.standard_normal((d, size))
        out = rows.T @ written @ u.T + noise * rng.standard_normal((size, d))
        found = head_values(u, matrix, out, form, written, rows)
        for _ in range(30):
            v = rng.uniform(-1, 1, variables)
            got = (u @ v) @ matrix[:-1] @ out
            plain = v @ form[:-1] @ written @ u.T
            most = float(found.off[:-1] @ np.abs(v))
            assert np.linalg.norm(got - plain) <= most + 1e-12
            n = rng.standard_normal(d)  # noise: along the values' rows, and what is left
            through = n @ matrix[:-1] @ out
            along = np.abs(rows @ (n @ matrix[:-1]))
            assert (along <= found.rows * np.linalg.norm(n) + 1e-12).all()
            rest = through - (n @ matrix[:-1] @ rows.T) @ written @ u.T
            assert np.linalg.norm(rest) <= found.through * np.linalg.norm(n) + 1e-12
        read = reading(u, matrix, form, rows)
        x = rng.standard_normal(d)
        idle = x @ matrix[:-1] - x @ u @ form[:-1] @ rows
        assert np.linalg.norm(idle) <= read.idle * np.linalg.norm(x) + 1e-12


def test_directions_and_one() -> None:
    u = np.eye(3)[:, :2]
    assert np.array_equal(widened(u), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]))
