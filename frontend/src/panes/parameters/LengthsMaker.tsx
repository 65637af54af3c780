import { useState } from "react";
import type { Parameter } from "../../api/types";
import { formatInt } from "../../domain/format";
import { drawLengths, type LengthsRecipe } from "../../domain/randomLengths";
import { parseInteger } from "../../domain/valueText";
import { Button } from "../../widgets/Button";
import { Segmented } from "../../widgets/Segmented";

interface LengthsMakerProps {
  parameter: Parameter;
  /** The present list, from which the first guess of a recipe is taken. */
  current: readonly number[];
  onMake: (values: number[]) => void;
  onClose: () => void;
}

const SPREADS = [
  { id: "even", label: "even" },
  { id: "skewed", label: "many short" },
] as const;

/** Random numbers from a seed; what is made are plain numbers, which links and runs keep as they are. */
export function LengthsMaker({ parameter, current, onMake, onClose }: LengthsMakerProps) {
  const [text, setText] = useState(() => firstRecipe(parameter, current));
  const [spread, setSpread] = useState<LengthsRecipe["spread"]>("even");
  const read = readRecipe(text, spread);
  const drawn = read.ok ? drawLengths(read.value) : read;
  const floor = parameter.minimum;
  const outside =
    drawn.ok && drawn.values.some((value) => (floor !== null && value < floor) || tooLarge(value, parameter));
  const problem = outside
    ? `The program allows ${parameter.minimum ?? "…"} to ${parameter.maximum ?? "…"}.`
    : drawn.ok
      ? null
      : drawn.message;
  const field = (name: keyof RecipeText, label: string) => (
    <label>
      <span>{label}</span>
      <input
        className="input mono"
        inputMode="numeric"
        value={text[name]}
        placeholder={name === "total" ? "any" : undefined}
        onChange={(event) => setText({ ...text, [name]: event.target.value })}
      />
    </label>
  );
  return (
    <fieldset className="maker">
      <legend className="visually-hidden">Random numbers for {parameter.name}</legend>
      <div className="maker-fields">
        {field("count", "How many")}
        {field("minimum", "From")}
        {field("maximum", "To")}
        {field("total", "Sum")}
        {field("seed", "Seed")}
      </div>
      <Segmented label="Spread" options={SPREADS} value={spread} onChange={setSpread} />
      <p className={problem ? "field-problem" : "field-note"} role={problem ? "alert" : undefined}>
        {problem ?? (drawn.ok ? preview(drawn.values) : "")}
      </p>
      <div className="maker-actions">
        <Button small look="primary" disabled={problem !== null} onClick={() => drawn.ok && onMake(drawn.values)}>
          Use these
        </Button>
        <Button small onClick={() => setText({ ...text, seed: String((Number(text.seed) || 0) + 1) })}>
          Next seed
        </Button>
        <Button small look="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
    </fieldset>
  );
}

function tooLarge(value: number, { maximum }: Parameter): boolean {
  return maximum !== null && value > maximum;
}

interface RecipeText {
  count: string;
  minimum: string;
  maximum: string;
  total: string;
  seed: string;
}

function firstRecipe({ minimum, maximum }: Parameter, current: readonly number[]): RecipeText {
  const largest = Math.max(1, ...current.slice(0, 10_000));
  return {
    count: String(current.length || 16),
    minimum: String(Math.max(1, minimum ?? 1)),
    maximum: String(maximum ?? (current.length > 0 ? largest : 1024)),
    total: "",
    seed: "1",
  };
}

function readRecipe(text: RecipeText, spread: LengthsRecipe["spread"]) {
  const count = parseInteger(text.count);
  const minimum = parseInteger(text.minimum);
  const maximum = parseInteger(text.maximum);
  const seed = parseInteger(text.seed);
  const total = text.total.trim() === "" ? null : parseInteger(text.total);
  const named = { "How many": count, From: minimum, To: maximum, Seed: seed, Sum: total };
  for (const [name, read] of Object.entries(named))
    if (read && !read.ok) return { ok: false, message: `${name}: ${read.message}.` } as const;
  if (!count.ok || !minimum.ok || !maximum.ok || !seed.ok || (total && !total.ok))
    return { ok: false, message: "" } as const;
  const value: LengthsRecipe = {
    count: count.value,
    minimum: minimum.value,
    maximum: maximum.value,
    total: total?.value ?? null,
    spread,
    seed: seed.value,
  };
  return { ok: true, value } as const;
}

function preview(values: readonly number[]): string {
  const sum = values.reduce((before, value) => before + value, 0);
  const shown = values.slice(0, 8).join(", ");
  return `${shown}${values.length > 8 ? ", …" : ""} (sum ${formatInt(sum)})`;
}
