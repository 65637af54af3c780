import type { UseQueryResult } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Dtype, Environment, Provider, Shape } from "../../api/types";
import { DTYPES } from "../../domain/generated/names";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { NumberStepper } from "../../widgets/NumberStepper";
import { Segmented } from "../../widgets/Segmented";

export interface LaunchChoice {
  providers: string[];
  shape: Required<Shape>;
  dtype: Dtype;
  seed: number;
  name: string;
}

const HEAD_DIMS = [16, 32, 64, 80, 96, 128, 192, 256];
const MOST_PROVIDERS = 8;

interface LaunchFormProps {
  environment: UseQueryResult<Environment, Error>;
  program: string;
  /** Null while something in the form is missing or wrong. */
  onChoice: (choice: LaunchChoice | null) => void;
}

export function LaunchForm({ environment, program, onChoice }: LaunchFormProps) {
  const providers = environment.data?.providers;
  const cuda = environment.data?.devices.some((device) => device.kind === "cuda") ?? false;
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null);
  const [shape, setShape] = useState<Required<Shape>>({ batch: 1, num_q_heads: 4, num_kv_heads: 4, head_dim: 64 });
  const [dtype, setDtype] = useState<Dtype | null>(null);
  const [seed, setSeed] = useState(0);
  const [name, setName] = useState("");

  const usable = providers?.filter((provider) => provider.usable).map((provider) => provider.name) ?? [];
  const selected = usable.filter((provider) => chosen?.has(provider) ?? true).slice(0, MOST_PROVIDERS);
  const realDtype = dtype ?? (cuda ? "bfloat16" : "float32");
  const uneven = shape.num_q_heads % shape.num_kv_heads !== 0;
  const key = JSON.stringify([selected, shape, realDtype, seed, name, uneven]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key holds every value that the choice is made of
  useEffect(() => {
    onChoice(uneven ? null : { providers: selected, shape, dtype: realDtype, seed, name: name.trim() || program });
  }, [key, program, onChoice]);

  const toggle = (provider: string) => {
    const next = new Set(selected);
    if (!next.delete(provider)) next.add(provider);
    setChosen(next);
  };
  const number = (label: string, field: keyof Shape, max: number) => (
    <div className="field">
      {label}
      <NumberStepper
        label={label}
        value={shape[field]}
        min={1}
        max={max}
        onChange={(value) => setShape({ ...shape, [field]: value })}
      />
    </div>
  );

  return (
    <div className="launch-form">
      <section>
        <h3>Providers</h3>
        {environment.isError && <ErrorNotice error={environment.error} onRetry={() => environment.refetch()} />}
        {environment.data?.state === "failed" && (
          <ErrorNotice
            error={{ message: environment.data.reason ?? "This machine could not be probed." }}
            onRetry={() => environment.refetch()}
          />
        )}
        {(environment.isPending || environment.data?.state === "probing") && (
          <div className="probing">
            <span className="muted">Finding out what this machine can run…</span>
            <SkeletonLines lines={4} height={22} />
          </div>
        )}
        {environment.data?.state === "ready" && (
          <ProviderList providers={environment.data.providers} selected={selected} onToggle={toggle} />
        )}
      </section>
      <section>
        <h3>Shape</h3>
        <div className="form-grid">
          {number("batch", "batch", 64)}
          {number("query heads", "num_q_heads", 256)}
          {number("key heads", "num_kv_heads", 256)}
          <label className="field">
            head_dim
            <select
              className="input"
              value={shape.head_dim}
              onChange={(event) => setShape({ ...shape, head_dim: Number(event.target.value) })}
            >
              {HEAD_DIMS.map((size) => (
                <option key={size}>{size}</option>
              ))}
            </select>
          </label>
        </div>
        {uneven && (
          <p className="field-problem" role="alert">
            {shape.num_q_heads} query heads cannot share {shape.num_kv_heads} key heads evenly: make the first a
            multiple of the second.
          </p>
        )}
      </section>
      <section>
        <h3>Numbers</h3>
        <div className="form-grid">
          <div className="field span-2">
            dtype
            <Segmented
              label="dtype"
              options={DTYPES.map((id) => ({ id, label: id }))}
              value={realDtype}
              onChange={setDtype}
            />
          </div>
          <div className="field">
            seed
            <NumberStepper label="seed" value={seed} min={0} max={2 ** 31 - 1} onChange={setSeed} />
          </div>
          <label className="field">
            name
            <input
              className="input"
              value={name}
              maxLength={200}
              placeholder={program}
              onChange={(event) => setName(event.target.value)}
            />
          </label>
        </div>
      </section>
      <p className="muted small-text">
        Each provider is first checked against dense attention in float64; only one that is right is measured.
      </p>
    </div>
  );
}

interface ProviderListProps {
  providers: readonly Provider[];
  selected: readonly string[];
  onToggle: (name: string) => void;
}

function ProviderList({ providers, selected, onToggle }: ProviderListProps) {
  return (
    <ul className="providers">
      {providers.map((provider) => (
        <li key={provider.name} className={provider.usable ? undefined : "unusable"}>
          <label>
            <input
              type="checkbox"
              checked={selected.includes(provider.name)}
              disabled={!provider.usable}
              onChange={() => onToggle(provider.name)}
            />
            <span>
              <code>{provider.name}</code> <span className="muted">{provider.kind === "peer" ? "peer" : ""}</span>
              <small>{provider.usable ? provider.title : (provider.reason ?? "not usable on this machine")}</small>
            </span>
          </label>
        </li>
      ))}
    </ul>
  );
}
