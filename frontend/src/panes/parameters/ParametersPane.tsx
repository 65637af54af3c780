import type { Diagnostic, Parameter, Program, Value, Values } from "../../api/types";
import { sameValues } from "../../domain/values";
import { InlineText } from "../../widgets/DocText";
import { SkeletonLines } from "../../widgets/Feedback";
import { ValueInput } from "./ValueInput";

interface ParametersPaneProps {
  program: Program | null;
  /** The first answer is on its way. */
  waiting?: boolean;
  /** What the server bound. */
  values: Values;
  assumed: readonly string[];
  /** What the server says about the text and its numbers. */
  diagnostics: readonly Diagnostic[];
  onValue: (name: string, value: Value) => void;
  onExample: (values: Values) => void;
}

/** One field for each parameter of the program, and its examples. */
export function ParametersPane({
  program,
  waiting,
  values,
  assumed,
  diagnostics,
  onValue,
  onExample,
}: ParametersPaneProps) {
  if (!program) {
    return (
      <section className="parameters" aria-label="Parameters">
        <h2 className="eyebrow">Parameters</h2>
        {waiting ? (
          <SkeletonLines lines={3} height={28} />
        ) : (
          <p className="muted">They appear as soon as the first line of the program can be read.</p>
        )}
      </section>
    );
  }
  return (
    <section className="parameters scroll" aria-label="Parameters">
      <h2 className="eyebrow">Parameters</h2>
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
          problem={problemOf(parameter.name, diagnostics)}
          onChange={(value) => onValue(parameter.name, value)}
        />
      ))}
    </section>
  );
}

/** The first error about the numbers of this parameter. */
function problemOf(name: string, diagnostics: readonly Diagnostic[]): Diagnostic | null {
  return diagnostics.find(({ severity, parameters }) => severity === "error" && parameters.includes(name)) ?? null;
}

function defaultsOf(program: Program): Values {
  const known = program.parameters.filter((parameter) => parameter.default !== null);
  return Object.fromEntries(known.map((parameter) => [parameter.name, parameter.default as Value]));
}

interface FieldProps {
  parameter: Parameter;
  value: Value | undefined;
  assumed: boolean;
  problem: Diagnostic | null;
  onChange: (value: Value) => void;
}

function Field({ parameter, value, assumed, problem, onChange }: FieldProps) {
  const id = `parameter-${parameter.name}`;
  return (
    <div className={problem ? "parameter wrong" : "parameter"}>
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
        {problem && (
          <p className="field-problem" role="alert">
            <InlineText text={problem.hint ? `${problem.message}; ${problem.hint}` : problem.message} />
          </p>
        )}
      </div>
    </div>
  );
}
