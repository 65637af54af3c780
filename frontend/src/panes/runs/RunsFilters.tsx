import { useEffect, useRef, useState } from "react";
import { DTYPES, VERDICTS } from "../../domain/generated/names";
import { hasFilters, type RunsQuery } from "../../domain/runsQuery";
import { Button } from "../../widgets/Button";

interface RunsFiltersProps {
  query: RunsQuery;
  /** Names that can be chosen: of masks, providers and devices. */
  presets: readonly string[];
  providers: readonly string[];
  devices: readonly string[];
  onChange: (change: Partial<RunsQuery>) => void;
}

const SEARCH_MS = 250;
const VERDICT_NAMES: Record<(typeof VERDICTS)[number], string> = {
  pending: "not finished",
  passed: "passed",
  failed: "wrong result",
  error: "error",
  cancelled: "cancelled",
};

export function RunsFilters({ query, presets, providers, devices, onChange }: RunsFiltersProps) {
  return (
    <search className="runs-filters">
      <SearchField value={query.q ?? ""} onChange={(q) => onChange({ q: q || undefined })} />
      <Choice
        label="Verdict"
        value={query.verdict}
        options={VERDICTS}
        names={VERDICT_NAMES}
        onChange={(verdict) => onChange({ verdict })}
      />
      <Choice label="Mask" value={query.preset} options={presets} onChange={(preset) => onChange({ preset })} />
      <Choice
        label="Provider"
        value={query.provider}
        options={providers}
        onChange={(provider) => onChange({ provider })}
      />
      <Choice label="dtype" value={query.dtype} options={DTYPES} onChange={(dtype) => onChange({ dtype })} />
      <Choice label="Device" value={query.device} options={devices} onChange={(device) => onChange({ device })} />
      {hasFilters(query) && (
        <Button
          look="quiet"
          icon="close"
          onClick={() =>
            onChange({
              q: undefined,
              preset: undefined,
              provider: undefined,
              verdict: undefined,
              dtype: undefined,
              device: undefined,
            })
          }
        >
          Clear
        </Button>
      )}
    </search>
  );
}

function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  // What is being typed, until the address has it; null while the address is the truth.
  const [draft, setDraft] = useState<string | null>(null);
  const finish = () => {
    if (draft !== null) onChange(draft);
    setDraft(null);
  };
  const latest = useRef(finish);
  latest.current = finish;
  useEffect(() => {
    if (draft === null) return;
    const timer = setTimeout(() => latest.current(), SEARCH_MS);
    return () => clearTimeout(timer);
  }, [draft]);
  return (
    <input
      className="input"
      type="search"
      placeholder="Search name, note, mask, provider"
      aria-label="Search runs"
      maxLength={200}
      value={draft ?? value}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={finish}
    />
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T | undefined;
  options: readonly T[];
  names?: Record<T, string>;
  onChange: (value: T | undefined) => void;
}

function Choice<T extends string>({ label, value, options, names, onChange }: ChoiceProps<T>) {
  const all = value && !options.includes(value) ? [value, ...options] : options;
  return (
    <select
      className="input"
      aria-label={label}
      value={value ?? ""}
      data-set={value !== undefined}
      onChange={(event) => onChange(all.find((option) => option === event.target.value))}
    >
      <option value="">{label}: all</option>
      {all.map((option) => (
        <option key={option} value={option}>
          {names?.[option] ?? option}
        </option>
      ))}
    </select>
  );
}
