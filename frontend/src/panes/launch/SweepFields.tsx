import type { Values } from "../../api/types";
import { type Axis, axisLabel, axisNames, firstText } from "../../domain/sweep";
import { Button } from "../../widgets/Button";
import { Switch } from "../../widgets/Switch";
import type { LaunchForm } from "./useLaunchForm";

/** What varies from case to case: a line for each parameter or size, with the values that it takes. */
export function SweepFields({ form, values }: { form: LaunchForm; values: Values }) {
  const { axes, together } = form.fields;
  const free = axisNames(values).filter((name) => axes.every((axis) => axis.name !== name));
  const nextId = Math.max(0, ...axes.map((axis) => axis.id)) + 1;
  const change = (id: number, part: Partial<Axis>) =>
    form.set({ axes: axes.map((axis) => (axis.id === id ? { ...axis, ...part } : axis)) });
  const [first] = free;
  return (
    <section>
      <div className="sweep-head">
        <h3>Sweep</h3>
        <span className="muted small-text">
          {axes.length === 0 ? "one case; add what should vary" : "all combinations are run"}
        </span>
      </div>
      {axes.map((axis) => (
        <AxisLine
          key={axis.id}
          axis={axis}
          names={[axis.name, ...free]}
          problem={form.axisProblems.get(axis.id)}
          onName={(name) => change(axis.id, { name, text: firstText(name, values) })}
          onText={(text) => change(axis.id, { text })}
          onRemove={() => form.set({ axes: axes.filter((other) => other.id !== axis.id) })}
        />
      ))}
      <div className="sweep-foot">
        {first !== undefined && (
          <Button
            small
            icon="plus"
            onClick={() => form.set({ axes: [...axes, { id: nextId, name: first, text: firstText(first, values) }] })}
          >
            Vary something
          </Button>
        )}
        {axes.filter((axis) => !axis.name.startsWith("*")).length > 1 && (
          <span className="switch-label">
            <Switch
              label="Parameters go together"
              checked={together}
              onChange={(checked) => form.set({ together: checked })}
            />
            Parameters go together: first with first, second with second
          </span>
        )}
      </div>
    </section>
  );
}

interface AxisLineProps {
  axis: Axis;
  names: readonly string[];
  problem: string | undefined;
  onName: (name: string) => void;
  onText: (text: string) => void;
  onRemove: () => void;
}

function AxisLine({ axis, names, problem, onName, onText, onRemove }: AxisLineProps) {
  const label = axisLabel(axis.name);
  const noteId = `axis-note-${axis.id}`;
  return (
    <div className="axis-line">
      <select
        className="input"
        aria-label="What varies"
        value={axis.name}
        onChange={(event) => onName(event.target.value)}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {axisLabel(name)}
          </option>
        ))}
      </select>
      <input
        className="input mono"
        aria-label={`Values of ${label}`}
        aria-invalid={problem !== undefined}
        aria-describedby={noteId}
        spellCheck={false}
        value={axis.text}
        onChange={(event) => onText(event.target.value)}
      />
      <Button small look="quiet" icon="close" aria-label={`Do not vary ${label}`} onClick={onRemove} />
      <p id={noteId} className={problem ? "field-problem" : "field-note"} role={problem ? "alert" : undefined}>
        {problem ? `${label} ${problem}` : axis.name.startsWith("*d") ? "" : "such as 1K, 2K, 1K..32K or 8..64 +8"}
      </p>
    </div>
  );
}
