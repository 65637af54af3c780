import { useId, useState } from "react";
import { formatInt, plural } from "../../domain/format";
import { formatValue, parseIntegerList } from "../../domain/values";

interface ListInputProps {
  id: string;
  label: string;
  value: number[];
  onChange: (value: number[]) => void;
}

/** A list of whole numbers: "128, 64, 256"; "8 x 512" repeats. */
export function ListInput({ id, label, value, onChange }: ListInputProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const noteId = useId();
  const parsed = draft === null ? null : parseIntegerList(draft);
  const problem = parsed && !parsed.ok ? parsed.message : null;
  const type = (text: string) => {
    setDraft(text);
    const read = parseIntegerList(text);
    if (read.ok) onChange(read.value);
  };
  const sum = value.reduce((total, item) => total + item, 0);
  return (
    <>
      <input
        id={id}
        className="input mono"
        type="text"
        autoComplete="off"
        placeholder="128, 64 or 8 x 512"
        aria-invalid={problem !== null}
        aria-describedby={noteId}
        value={draft ?? formatValue(value)}
        onChange={(event) => type(event.target.value)}
        onBlur={() => problem === null && setDraft(null)}
      />
      <p className={problem ? "field-problem" : "field-note"} id={noteId} role={problem ? "alert" : undefined}>
        {problem ? `${label}: ${problem}` : `${plural(value.length, "entry", "entries")}, sum ${formatInt(sum)}`}
      </p>
    </>
  );
}
