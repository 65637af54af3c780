import { useId } from "react";
import type { Parameter, Value } from "../../api/types";
import { type Kind, kindOf } from "../../domain/values";
import { describeValue, fieldText, hasLines, parseJsonValue, parseValue, rangeText } from "../../domain/valueText";
import { NumberStepper } from "../../widgets/NumberStepper";
import { Switch } from "../../widgets/Switch";
import { ListSources } from "./ListSources";
import { TextValueInput } from "./TextValueInput";

interface ValueInputProps {
  id: string;
  parameter: Parameter;
  value: Value | undefined;
  onChange: (value: Value) => void;
}

/** The field that suits a parameter's type; a type that this page does not know is written as JSON. */
export function ValueInput({ id, parameter, value, onChange }: ValueInputProps) {
  const kind = kindOf(parameter.type);
  if (!kind) {
    return (
      <TextValueInput
        id={id}
        label={parameter.name}
        text={value === undefined ? "" : JSON.stringify(value)}
        parse={parseJsonValue}
        note={`a value of type ${parameter.type}, as JSON`}
        placeholder="[[1, 2], [3]]"
        lines
        onChange={onChange}
      />
    );
  }
  if (kind.depth > 0 || parameter.per !== null)
    return <WrittenInput id={id} parameter={parameter} kind={kind} value={value} onChange={onChange} />;
  if (kind.bool) return <Switch id={id} label={parameter.name} checked={value === true} onChange={onChange} />;
  return <NumberInput id={id} parameter={parameter} value={value} onChange={onChange} />;
}

function NumberInput({ id, parameter, value, onChange }: ValueInputProps) {
  const noteId = useId();
  const range = rangeText(parameter);
  return (
    <>
      <NumberStepper
        id={id}
        label={parameter.name}
        value={typeof value === "number" ? value : 0}
        min={parameter.minimum ?? undefined}
        max={parameter.maximum ?? undefined}
        describedBy={range ? noteId : undefined}
        onChange={onChange}
      />
      {range && (
        <p className="field-note" id={noteId}>
          {range}
        </p>
      )}
    </>
  );
}

function WrittenInput({ id, parameter, kind, value, onChange }: ValueInputProps & { kind: Kind }) {
  const held = value ?? (kind.depth > 0 ? [] : kind.bool ? false : 0);
  const note = [describeValue(held, kind, parameter.per), rangeText(parameter)].filter((part) => part !== null);
  return (
    <>
      <TextValueInput
        id={id}
        label={parameter.name}
        text={fieldText(held)}
        parse={(text) => parseValue(text, kind, parameter)}
        note={note.join("; ")}
        placeholder={placeholderOf(kind, hasLines(kind.depth, parameter.per))}
        lines={hasLines(kind.depth, parameter.per)}
        onChange={onChange}
      />
      <ListSources parameter={parameter} kind={kind} value={value} onChange={onChange} />
    </>
  );
}

function placeholderOf({ bool }: Kind, lines: boolean): string {
  if (lines) return bool ? "true, false\n1, 0, 0" : "128, 64\n8 x 512";
  return bool ? "true, false or 8 x 1" : "128, 64 or 8 x 512";
}
