"""The real worker, except that with seed 13 the provider `torch` returns a result that is 5 % too large.

What is tested is that a wrong result is found by the real verification, stored with its reason, and shown without a speed.
"""

import dataclasses
import sys

from compilemask.bench import case, providers, worker

FAULTY_SEED = 13
run_truly = case.run_case
find_truly = providers.provider_named


def run_case(spec, options, **rest):
    if spec.seed == FAULTY_SEED and spec.provider == "torch":
        case.provider_named = wrong_provider
    try:
        return run_truly(spec, options, **rest)
    finally:
        case.provider_named = find_truly


def wrong_provider(name):
    provider = find_truly(name)

    def build(problem):
        built = provider.build(problem)

        def run():
            o, lse = built.run()
            return o * 1.05, lse

        return dataclasses.replace(built, run=run)

    return dataclasses.replace(provider, build=build)


if __name__ == "__main__":
    case.run_case = run_case
    sys.exit(worker.main())
