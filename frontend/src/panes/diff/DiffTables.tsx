import type { CompileResult, MaskStatistics, Value } from "../../api/types";
import { formatBytes, formatInt, formatPercent } from "../../domain/format";
import { formatValue } from "../../domain/values";

interface Row {
  name: string;
  of: (statistics: MaskStatistics) => number;
  show: (value: number) => string;
}

const ROWS: readonly Row[] = [
  { name: "Queries", of: ({ q_len }) => q_len, show: formatInt },
  { name: "Keys", of: ({ kv_len }) => kv_len, show: formatInt },
  { name: "Visible pairs", of: ({ visible_pairs }) => visible_pairs, show: formatInt },
  { name: "Density", of: ({ density }) => density, show: (value) => formatPercent(value, 2) },
  { name: "Runs", of: ({ runs }) => runs, show: formatInt },
  { name: "Queries that see nothing", of: ({ empty_rows }) => empty_rows, show: formatInt },
  { name: "Keys nobody sees", of: ({ unseen_keys }) => unseen_keys, show: formatInt },
  { name: "Descriptor", of: ({ descriptor_bytes }) => descriptor_bytes, show: formatBytes },
  { name: "Full tiles, 128 × 128", of: ({ tiles }) => tiles.visited_full, show: formatInt },
  { name: "Partial tiles", of: ({ tiles }) => tiles.visited_partial, show: formatInt },
  { name: "Pairs processed", of: ({ tiles }) => tiles.processed_pairs, show: formatInt },
  { name: "Fill", of: ({ tiles }) => tiles.fill, show: (value) => formatPercent(value) },
];

/** The numbers of both masks; those that differ stand out, with the change. */
export function StatisticsTable({ left, right }: { left: MaskStatistics; right: MaskStatistics }) {
  return (
    <table className="diff-table">
      <caption>Statistics</caption>
      <Head />
      <tbody>
        {ROWS.map(({ name, of, show }) => {
          const [a, b] = [of(left), of(right)];
          return (
            <tr key={name} data-differs={a !== b || undefined}>
              <th scope="row">{name}</th>
              <td>{show(a)}</td>
              <td>{show(b)}</td>
              <td>{a === b ? "" : change(a, b)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Head() {
  return (
    <thead>
      <tr>
        <th scope="col">
          <span className="visually-hidden">What</span>
        </th>
        <th scope="col">Left</th>
        <th scope="col">Right</th>
        <th scope="col">Change</th>
      </tr>
    </thead>
  );
}

function change(a: number, b: number): string {
  if (a === 0) return "new";
  const share = (b - a) / a;
  const text = Math.abs(share) < 0.0005 ? "< 0.1 %" : formatPercent(Math.abs(share));
  return `${share < 0 ? "−" : "+"}${text}`;
}

/** Values of parameters that differ, or that only one of the masks has. */
export function NumbersTable({ left, right }: { left: CompileResult; right: CompileResult }) {
  const names = [...new Set([...Object.keys(left.values), ...Object.keys(right.values)])];
  const differing = names.filter((name) => JSON.stringify(left.values[name]) !== JSON.stringify(right.values[name]));
  if (differing.length === 0) return null;
  const cell = (value: Value | undefined) =>
    value === undefined ? <span className="muted">none</span> : formatValue(value);
  return (
    <table className="diff-table values">
      <caption>Numbers that differ</caption>
      <thead>
        <tr>
          <th scope="col">Parameter</th>
          <th scope="col">Left</th>
          <th scope="col">Right</th>
        </tr>
      </thead>
      <tbody>
        {differing.map((name) => (
          <tr key={name}>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td>{cell(left.values[name])}</td>
            <td>{cell(right.values[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
