import { type KeyboardEvent, useId, useState } from "react";
import { stepFor } from "../domain/values";
import { parseInteger } from "../domain/valueText";
import { Icon } from "./Icon";

interface NumberStepperProps {
  label: string;
  value: number;
  onChange: (value: number) => void;
  min?: number;
  max?: number;
  id?: string;
  describedBy?: string;
}

/** A whole number: typed, or changed by the buttons and the arrow keys. What cannot be read is said, not sent. */
export function NumberStepper({ label, value, onChange, min, max, id, describedBy }: NumberStepperProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const problemId = useId();
  const range = { minimum: min ?? null, maximum: max ?? null };
  const parsed = draft === null ? null : parseInteger(draft, range);
  const problem = parsed && !parsed.ok ? parsed.message : null;

  const type = (text: string) => {
    setDraft(text);
    const read = parseInteger(text, range);
    if (read.ok) onChange(read.value);
  };
  const step = (direction: 1 | -1) => {
    // From 16 upwards a step is a power of two, so going down must not skip a size that going up would meet.
    const size = direction === 1 ? stepFor(value) : stepFor(value - 1);
    const next = value + direction * size;
    setDraft(null);
    onChange(Math.max(min ?? -Infinity, Math.min(max ?? Infinity, next)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    step(event.key === "ArrowUp" ? 1 : -1);
  };
  return (
    <>
      <div className={problem ? "stepper invalid" : "stepper"}>
        <input
          id={id}
          type="text"
          inputMode="numeric"
          autoComplete="off"
          aria-label={id ? undefined : label}
          aria-invalid={problem !== null}
          aria-describedby={problem ? problemId : describedBy}
          value={draft ?? String(value)}
          onChange={(event) => type(event.target.value)}
          onKeyDown={onKeyDown}
          onBlur={() => problem === null && setDraft(null)}
        />
        <button type="button" tabIndex={-1} aria-label={`Less ${label}`} onClick={() => step(-1)}>
          <Icon name="minus" size={12} />
        </button>
        <button type="button" tabIndex={-1} aria-label={`More ${label}`} onClick={() => step(1)}>
          <Icon name="plus" size={12} />
        </button>
      </div>
      {problem && (
        <p className="field-problem" id={problemId} role="alert">
          {label} {problem}
        </p>
      )}
    </>
  );
}
