"""Floating-point operations that a case needs: visible pairs only, so that skipping hidden ones never counts as speed."""

from __future__ import annotations

from compilemask.bench.protocol import CaseSpec, Direction
from compilemask.descriptor import MaskDescriptor


def case_flops(spec: CaseSpec, mask: MaskDescriptor) -> int:
    """Of all batch items and query heads, in the case's direction."""
    return (
        pair_flops(spec.direction, spec.head_dim, spec.v_head_dim) * mask.visible_pairs * spec.batch * spec.num_q_heads
    )


def pair_flops(direction: Direction, head_dim: int, v_head_dim: int | None = None) -> int:
    """Of one visible pair in one head. A product over a dimension d is 2 * d.

    Forward: q k^T and p v. Backward: q k^T again, dp = do v^T, dv = p^T do, dq = ds k, dk = ds^T q; with equal head_dims 2.5
    times the forward (Dao et al., 2022).
    """
    v_head_dim = head_dim if v_head_dim is None else v_head_dim
    forward = 2 * (head_dim + v_head_dim)
    backward = 2 * (3 * head_dim + 2 * v_head_dim)
    match direction:
        case "forward":
            return forward
        case "backward":
            return backward
        case "forward+backward":
            return forward + backward
