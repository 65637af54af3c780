import type { Parameter, Program, Value, Values } from "../../api/types";
import { sameValues } from "../../domain/values";
import { ValueInput } from "./ValueInput";

interface ParametersPaneProps {
  program: Program | null;
  /** What the server bound. */
  values: Values;
  assumed: readonly string[];
  onValue: (name: string, value: Value) => void;
  onExample: (values: Values) => void;
}

/** One field for each parameter of the program, and its examples. */
export function ParametersPane({ program, values, assumed, onValue, onExample }: ParametersPaneProps) {
  if (!program) {
    return (
      <section className="parameters" aria-label="Parameters">
        <h3>Parameters</h3>
        <p className="muted">They appear as soon as the first line of the program can be read.</p>
      </section>
    );
  }
  return (
    <section className="parameters scroll" aria-label="Parameters">
      <h3>Parameters</h3>
      {program.examples.length > 0 && (
        <div className="examples">
          {program.examples.map((example) => (
            <button
              key={example.name}
              type="button"
              className="chip"
              aria-pressed={sameValues({ ...defaultsOf(program), ...example.values }, values)}
              onClick={() => onExample(example.values)}
            >
              {example.name}
            </button>
          ))}
        </div>
      )}
      {program.parameters.length === 0 && <p className="muted">This mask has no parameters.</p>}
      {program.parameters.map((parameter) => (
        <Field
          key={`${parameter.name} ${parameter.type}`}
          parameter={parameter}
          value={values[parameter.name]}
          assumed={assumed.includes(parameter.name)}
          onChange={(value) => onValue(parameter.name, value)}
        />
      ))}
    </section>
  );
}

function defaultsOf(program: Program): Values {
  const known = program.parameters.filter((parameter) => parameter.default !== null);
  return Object.fromEntries(known.map((parameter) => [parameter.name, parameter.default as Value]));
}

interface FieldProps {
  parameter: Parameter;
  value: Value | undefined;
  assumed: boolean;
  onChange: (value: Value) => void;
}

function Field({ parameter, value, assumed, onChange }: FieldProps) {
  const id = `parameter-${parameter.name}`;
  return (
    <div className="parameter">
      <label htmlFor={id} title={parameter.doc || undefined}>
        <code className="truncate">{parameter.name}</code>{" "}
        {parameter.per !== null && (
          <span className="per" title={`One value for all, or one for each ${parameter.per}`}>
            per {parameter.per}
          </span>
        )}
        {assumed && (
          <span
            className="assumed"
            title="The program names no example or default for it, so the studio chose this number"
          >
            assumed
          </span>
        )}
      </label>
      <div className="parameter-input">
        <ValueInput id={id} parameter={parameter} value={value} onChange={onChange} />
      </div>
    </div>
  );
}
