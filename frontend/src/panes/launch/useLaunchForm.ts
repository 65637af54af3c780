import { useState } from "react";
import type { Direction, Dtype, Environment, LaunchCreate, Shape, Values } from "../../api/types";
import { type Axis, axesOf, NO_SWEEP, sweepOf } from "../../domain/sweep";
import { parseTags } from "../../domain/tags";

export interface LaunchFields {
  /** Null until something was ticked: then all that can be used. */
  providers: ReadonlySet<string> | null;
  shape: Required<Shape>;
  /** Null: what suits the machine. */
  dtype: Dtype | null;
  direction: Direction;
  seed: number;
  name: string;
  tags: string;
  axes: readonly Axis[];
  together: boolean;
}

export interface LaunchForm {
  fields: LaunchFields;
  set: (change: Partial<LaunchFields>) => void;
  /** What of the chosen providers can run here. */
  providers: string[];
  dtype: Dtype;
  /** What is wrong, by axis, and with the rest. */
  axisProblems: ReadonlyMap<number, string>;
  headProblem: string | null;
  tagProblem: string | null;
  /** Null while something is missing or wrong. */
  body: LaunchCreate | null;
}

const MOST_PROVIDERS = 16;

/** The fields of a launch and what they make; `initial` is a launch that was sent before. */
export function useLaunchForm(
  draft: { source: string; values: Values },
  program: string,
  environment: Environment | undefined,
  initial: LaunchCreate | null,
): LaunchForm {
  const [fields, setFields] = useState<LaunchFields>(() => ({
    providers: initial ? new Set(initial.providers) : null,
    shape: initial?.shape ?? { batch: 1, num_q_heads: 4, num_kv_heads: 4, head_dim: 64 },
    dtype: initial?.dtype ?? null,
    direction: initial?.direction ?? "forward",
    seed: initial?.seed ?? 0,
    name: initial?.name ?? "",
    tags: initial?.tags.join(", ") ?? "",
    axes: initial ? axesOf(initial) : [],
    together: initial?.sweep.together ?? false,
  }));
  const { shape } = fields;
  const usable = environment?.providers.filter((provider) => provider.usable).map((provider) => provider.name) ?? [];
  const providers = usable.filter((name) => fields.providers?.has(name) ?? true).slice(0, MOST_PROVIDERS);
  const dtype =
    fields.dtype ?? (environment?.devices.some((device) => device.kind === "cuda") ? "bfloat16" : "float32");
  const { sweep, problems } =
    fields.axes.length > 0
      ? sweepOf(fields.axes, fields.together, draft.values)
      : { sweep: NO_SWEEP, problems: new Map<number, string>() };
  const headProblem =
    shape.num_q_heads % shape.num_kv_heads === 0
      ? null
      : `${shape.num_q_heads} query heads cannot share ${shape.num_kv_heads} key heads evenly: make the first a multiple of the second.`;
  const tags = parseTags(fields.tags);
  const fine = providers.length > 0 && headProblem === null && tags.ok && sweep !== null;
  return {
    fields,
    set: (change) => setFields((now) => ({ ...now, ...change })),
    providers,
    dtype,
    axisProblems: problems,
    headProblem,
    tagProblem: tags.ok ? null : tags.message,
    body: fine
      ? {
          ...draft,
          providers,
          shape,
          dtype,
          direction: fields.direction,
          seed: fields.seed,
          name: fields.name.trim() || program,
          tags: tags.value,
          sweep,
        }
      : null,
  };
}
