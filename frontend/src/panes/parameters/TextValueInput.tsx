import { useId, useState } from "react";
import type { Value } from "../../api/types";
import type { Parsed } from "../../domain/valueText";

interface TextValueInputProps {
  id: string;
  label: string;
  /** The present value, written so that `parse` reads it. */
  text: string;
  parse: (text: string) => Parsed<Value>;
  /** What the field holds and takes, when nothing is wrong. */
  note: string;
  placeholder: string;
  lines: boolean;
  onChange: (value: Value) => void;
}

const MAX_LINES = 8;

/** A value that is written out. What cannot be read is said, not sent. */
export function TextValueInput({ id, label, text, parse, note, placeholder, lines, onChange }: TextValueInputProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const noteId = useId();
  const parsed = draft === null ? null : parse(draft);
  const problem = parsed && !parsed.ok ? parsed.message : null;
  const type = (typed: string) => {
    setDraft(typed);
    const read = parse(typed);
    if (read.ok) onChange(read.value);
  };
  const shown = draft ?? text;
  const shared = {
    id,
    className: "input mono",
    autoComplete: "off",
    spellCheck: false,
    placeholder,
    "aria-invalid": problem !== null,
    "aria-describedby": noteId,
    value: shown,
    onBlur: () => problem === null && setDraft(null),
  };
  return (
    <>
      {lines ? (
        <textarea
          {...shared}
          rows={Math.min(MAX_LINES, Math.max(2, shown.split("\n").length))}
          onChange={(event) => type(event.target.value)}
        />
      ) : (
        <input {...shared} type="text" onChange={(event) => type(event.target.value)} />
      )}
      <p className={problem ? "field-problem" : "field-note"} id={noteId} role={problem ? "alert" : undefined}>
        {problem ? `${label}: ${problem}` : note}
      </p>
    </>
  );
}
