"""Our own attention(), called as a user calls it; its plan is made afresh to be timed."""

from __future__ import annotations

from torch import Tensor

from compilemask.attention import Impl, attention, choose_impl
from compilemask.attention.mask_tensors import cache
from compilemask.attention.packed_tensors import choices
from compilemask.attention.reordered_tensors import routes
from compilemask.bench.problem import Built, Problem, built_of, timed_builds


def build_impl(problem: Problem, impl: Impl, *, deterministic: bool = False) -> Built:
    """deterministic: with gradients that have equal bits each time. Raises ValueError when the implementation cannot take the problem."""
    q, k, v, mask = problem.q, problem.k, problem.v, problem.mask
    choose_impl(q, k, v, impl=impl, mask=mask)

    def run() -> tuple[Tensor, Tensor | None]:
        if problem.activation == "silu":
            return attention(
                q,
                k,
                v,
                mask,
                sm_scale=problem.sm_scale,
                activation="silu",
                norm=problem.norm,
                impl=impl,
                deterministic=deterministic,
            ), None
        return attention(
            q, k, v, mask, sm_scale=problem.sm_scale, impl=impl, return_lse=True, deterministic=deterministic
        )

    if impl == "reference":
        return built_of(problem, run, "dense, float64", None, None)

    def plan() -> str:
        match impl:
            case "triton":
                return _plan_triton(problem)
            case "hopper":
                return _plan_hopper(problem, deterministic)
            case _:
                return _plan_torch(problem)

    detail, cold_ms, warm_ms = timed_builds(plan, q.device)
    return built_of(problem, run, detail, cold_ms, warm_ms, plan)


def _plan_triton(problem: Problem) -> str:
    from compilemask.attention import triton

    q, k, v, mask = problem.q, problem.k, problem.v, problem.mask
    cache.clear()
    choices.clear()
    routes.clear()
    route = triton.choose_route(q, k, v, mask)
    return route.detail if problem.do is None else f"{route.detail}; backward: {_plan_triton_backward(problem)}"


def _plan_triton_backward(problem: Problem) -> str:
    from compilemask.attention import gradients

    return gradients.plan(problem.q, problem.k, problem.v, problem.mask)


def _plan_hopper(problem: Problem, deterministic: bool) -> str:
    from compilemask.attention import hopper
    from compilemask.attention.hopper.gradients import plan as plan_gradients

    cache.clear()
    hopper.work_cache.clear()
    routes.clear()
    detail = hopper.plan(problem.q, problem.k, problem.v, problem.mask)
    if problem.do is None:
        return detail
    if not hopper.takes_dims(problem.q.shape[3], problem.v.shape[3]):
        return f"{detail}; backward of impl triton: {_plan_triton_backward(problem)}"
    backward = plan_gradients(problem.mask, problem.q.shape[3], problem.q.device, deterministic=deterministic)
    return f"{detail}; backward: {backward}"


def _plan_torch(problem: Problem) -> str:
    from compilemask.attention import tiled

    cache.clear()
    cache.get(problem.mask, tiled.BLOCK_M, tiled.BLOCK_N, problem.q.device)
    return f"{tiled.BLOCK_M}x{tiled.BLOCK_N} tiles, batched products"
