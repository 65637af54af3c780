import { useEffect, useRef, useState } from "react";
import type { Facet, RunFacets, RunGroupField } from "../../api/types";
import { DIRECTIONS, DTYPES, RUN_GROUP_FIELDS, VERDICTS } from "../../domain/generated/names";
import { hasFilters, NO_FILTERS, type RunsQuery } from "../../domain/runsQuery";
import { Button } from "../../widgets/Button";
import { Icon } from "../../widgets/Icon";

interface RunsFiltersProps {
  query: RunsQuery;
  group: RunGroupField | null;
  /** The values that there are. */
  facets: RunFacets | undefined;
  onChange: (change: Partial<RunsQuery>) => void;
  onGroup: (by: RunGroupField | null) => void;
}

const SEARCH_MS = 250;
const VERDICT_NAMES: Record<(typeof VERDICTS)[number], string> = {
  pending: "not finished",
  passed: "passed",
  failed: "wrong result",
  error: "error",
  cancelled: "cancelled",
};
const GROUP_NAMES: Record<RunGroupField, string> = {
  mask_name: "mask",
  provider: "provider",
  dtype: "dtype",
  direction: "direction",
  device: "device",
  verdict: "verdict",
  head_dim: "head_dim",
  launch_id: "launch",
};

export function RunsFilters({ query, group, facets, onChange, onGroup }: RunsFiltersProps) {
  const [open, setOpen] = useState(false);
  const names = (list: readonly Facet[] | undefined) => list?.map((facet) => facet.value) ?? [];
  return (
    <search className="runs-filters" data-open={open}>
      <SearchField value={query.q ?? ""} onChange={(q) => onChange({ q: q || undefined })} />
      <Button className="filters-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        Filters
      </Button>
      <Choice
        label="Verdict"
        value={query.verdict}
        options={VERDICTS}
        names={VERDICT_NAMES}
        onChange={(verdict) => onChange({ verdict })}
      />
      <Choice
        label="Mask"
        value={query.preset}
        options={names(facets?.masks)}
        onChange={(preset) => onChange({ preset })}
      />
      <Choice
        label="Provider"
        value={query.provider}
        options={names(facets?.providers)}
        onChange={(provider) => onChange({ provider })}
      />
      <Choice label="dtype" value={query.dtype} options={DTYPES} onChange={(dtype) => onChange({ dtype })} />
      <Choice
        label="Direction"
        value={query.direction}
        options={DIRECTIONS}
        onChange={(direction) => onChange({ direction })}
      />
      <Choice
        label="Device"
        value={query.device}
        options={names(facets?.devices)}
        onChange={(device) => onChange({ device })}
      />
      {(facets?.tags.length ?? 0) > 0 || query.tag ? (
        <Choice label="Tag" value={query.tag} options={names(facets?.tags)} onChange={(tag) => onChange({ tag })} />
      ) : null}
      <select
        className="input"
        aria-label="Group"
        value={group ?? ""}
        data-set={group !== null}
        onChange={(event) => onGroup(RUN_GROUP_FIELDS.find((by) => by === event.target.value) ?? null)}
      >
        <option value="">Group: none</option>
        {RUN_GROUP_FIELDS.map((by) => (
          <option key={by} value={by}>
            Group: {GROUP_NAMES[by]}
          </option>
        ))}
      </select>
      {(["launch", "mask", "head_dim"] as const).map(
        (name) =>
          query[name] !== undefined && (
            <button
              key={name}
              type="button"
              className="chip"
              aria-label={`Remove the filter ${name}`}
              onClick={() => onChange({ [name]: undefined })}
            >
              {name} {String(query[name]).slice(0, 10)}
              <Icon name="close" size={10} />
            </button>
          ),
      )}
      {hasFilters(query) && (
        <Button look="quiet" icon="close" onClick={() => onChange(NO_FILTERS)}>
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
