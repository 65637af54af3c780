import type { UseQueryResult } from "@tanstack/react-query";
import type { Environment, Provider, Shape, Values } from "../../api/types";
import { plural } from "../../domain/format";
import { DIRECTIONS, DTYPES } from "../../domain/generated/names";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { NumberStepper } from "../../widgets/NumberStepper";
import { Segmented } from "../../widgets/Segmented";
import { SweepFields } from "./SweepFields";
import type { LaunchForm } from "./useLaunchForm";

const HEAD_DIMS = [16, 32, 64, 80, 96, 128, 192, 256];

interface LaunchFormProps {
  environment: UseQueryResult<Environment, Error>;
  form: LaunchForm;
  program: string;
  /** The numbers that the mask has now: what can vary. */
  values: Values;
}

/** Everything that a launch can be told. */
export function LaunchFields({ environment, form, program, values }: LaunchFormProps) {
  return (
    <div className="launch-form">
      <section>
        <h3>Providers</h3>
        <Providers environment={environment} form={form} />
      </section>
      <ShapeFields form={form} />
      <NumberFields form={form} program={program} />
      <SweepFields form={form} values={values} />
      <p className="muted small-text">
        Each provider is first checked against dense attention in float64; only one that is right is measured.
      </p>
    </div>
  );
}

function ShapeFields({ form }: { form: LaunchForm }) {
  const { shape } = form.fields;
  const number = (label: string, field: keyof Shape, max: number) => (
    <div className="field">
      {label}
      <NumberStepper
        label={label}
        value={shape[field]}
        min={1}
        max={max}
        onChange={(value) => form.set({ shape: { ...shape, [field]: value } })}
      />
    </div>
  );
  const sizes = HEAD_DIMS.includes(shape.head_dim) ? HEAD_DIMS : [shape.head_dim, ...HEAD_DIMS];
  return (
    <section>
      <h3>Shape</h3>
      <div className="form-grid">
        {number("Batch", "batch", 64)}
        {number("Query heads", "num_q_heads", 256)}
        {number("Key heads", "num_kv_heads", 256)}
        <label className="field">
          head_dim
          <select
            className="input"
            value={shape.head_dim}
            onChange={(event) => form.set({ shape: { ...shape, head_dim: Number(event.target.value) } })}
          >
            {sizes.map((size) => (
              <option key={size}>{size}</option>
            ))}
          </select>
        </label>
      </div>
      {form.headProblem && (
        <p className="field-problem" role="alert">
          {form.headProblem}
        </p>
      )}
    </section>
  );
}

function NumberFields({ form, program }: { form: LaunchForm; program: string }) {
  const { fields } = form;
  return (
    <section>
      <h3>Numbers</h3>
      <div className="form-grid">
        <div className="field span-2">
          dtype
          <Segmented
            label="dtype"
            options={DTYPES.map((id) => ({ id, label: id }))}
            value={form.dtype}
            onChange={(dtype) => form.set({ dtype })}
          />
        </div>
        <div className="field span-2">
          Direction
          <Segmented
            label="Direction"
            options={DIRECTIONS.map((id) => ({ id, label: id === "forward+backward" ? "both" : id }))}
            value={fields.direction}
            onChange={(direction) => form.set({ direction })}
          />
        </div>
        <div className="field">
          Seed
          <NumberStepper
            label="Seed"
            value={fields.seed}
            min={0}
            max={2 ** 31 - 1}
            onChange={(seed) => form.set({ seed })}
          />
        </div>
        <label className="field">
          Name
          <input
            className="input"
            value={fields.name}
            maxLength={200}
            placeholder={program}
            onChange={(event) => form.set({ name: event.target.value })}
          />
        </label>
        <label className="field span-2">
          Tags
          <input
            className="input"
            value={fields.tags}
            maxLength={700}
            placeholder="none; commas between several"
            aria-invalid={form.tagProblem !== null}
            onChange={(event) => form.set({ tags: event.target.value })}
          />
        </label>
      </div>
      {form.tagProblem && (
        <p className="field-problem" role="alert">
          {form.tagProblem}
        </p>
      )}
    </section>
  );
}

function Providers({ environment, form }: Pick<LaunchFormProps, "environment" | "form">) {
  const { data } = environment;
  if (environment.isError) return <ErrorNotice error={environment.error} onRetry={() => environment.refetch()} />;
  if (data?.state === "failed") {
    return (
      <ErrorNotice
        error={{ message: data.reason ?? "This machine could not be probed." }}
        onRetry={() => environment.refetch()}
      />
    );
  }
  if (!data || data.state === "probing") {
    return (
      <div className="probing">
        <span className="muted">Finding out what this machine can run…</span>
        <SkeletonLines lines={4} height={22} />
      </div>
    );
  }
  const toggle = (provider: string) => {
    const next = new Set(form.providers);
    if (!next.delete(provider)) next.add(provider);
    form.set({ providers: next });
  };
  return <ProviderList providers={data.providers} selected={form.providers} onToggle={toggle} />;
}

interface ProviderListProps {
  providers: readonly Provider[];
  selected: readonly string[];
  onToggle: (name: string) => void;
}

/** What can run here stands first; the rest folds away, each with the reason. */
function ProviderList({ providers, selected, onToggle }: ProviderListProps) {
  const usable = providers.filter((provider) => provider.usable);
  const unusable = providers.filter((provider) => !provider.usable);
  return (
    <>
      <ul className="provider-lines providers">
        {usable.map((provider) => (
          <li key={provider.name}>
            <ProviderLine provider={provider} selected={selected} onToggle={onToggle} />
          </li>
        ))}
      </ul>
      {usable.length === 0 && <p className="muted small-text">Nothing can run on this machine.</p>}
      {unusable.length > 0 && (
        <details className="unusable-providers">
          <summary>{plural(unusable.length, "other")} cannot run here</summary>
          <ul className="provider-lines">
            {unusable.map((provider) => (
              <li key={provider.name} className="unusable">
                <ProviderLine provider={provider} selected={selected} onToggle={onToggle} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function ProviderLine({ provider, selected, onToggle }: Omit<ProviderListProps, "providers"> & { provider: Provider }) {
  return (
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
  );
}
