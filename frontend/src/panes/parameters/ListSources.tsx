import { type ChangeEvent, useRef, useState } from "react";
import type { Parameter, Value } from "../../api/types";
import { MAX_FILE_BYTES, readTable } from "../../domain/tableFile";
import type { Kind } from "../../domain/values";
import type { Parsed } from "../../domain/valueText";
import { Button } from "../../widgets/Button";
import { LengthsMaker } from "./LengthsMaker";

interface ListSourcesProps {
  parameter: Parameter;
  kind: Kind;
  value: Value | undefined;
  onChange: (value: Value) => void;
}

/** Other ways to a list than writing it: random numbers, or a file. */
export function ListSources({ parameter, kind, value, onChange }: ListSourcesProps) {
  const [making, setMaking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const file = useRef<HTMLInputElement>(null);
  // A value for each item or head is a list with one bracket more.
  const depth = Math.min(2, kind.depth + (parameter.per === null ? 0 : 1)) as Kind["depth"];
  const readFile = async (event: ChangeEvent<HTMLInputElement>) => {
    const chosen = event.target.files?.[0];
    event.target.value = "";
    if (!chosen) return;
    const read: Parsed<Value> =
      chosen.size > MAX_FILE_BYTES
        ? { ok: false, message: "the file is larger than 4 MB" }
        : readTable(await chosen.text(), { bool: kind.bool, depth });
    setProblem(read.ok ? null : `${chosen.name}: ${read.message}`);
    if (read.ok) onChange(read.value);
  };
  const numbers = Array.isArray(value) ? value.filter((item) => typeof item === "number") : [];
  return (
    <>
      <div className="list-sources">
        {depth === 1 && !kind.bool && (
          <Button small look="quiet" aria-expanded={making} onClick={() => setMaking(!making)}>
            Random…
          </Button>
        )}
        <Button
          small
          look="quiet"
          title="A JSON list, or CSV with a line for each row"
          onClick={() => file.current?.click()}
        >
          From file…
        </Button>
        <input
          ref={file}
          type="file"
          hidden
          aria-label={`File for ${parameter.name}`}
          accept=".json,.csv,.tsv,.txt"
          onChange={(event) => void readFile(event)}
        />
      </div>
      {problem && (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      )}
      {making && (
        <LengthsMaker parameter={parameter} current={numbers} onMake={onChange} onClose={() => setMaking(false)} />
      )}
    </>
  );
}
