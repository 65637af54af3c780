import { useEffect, useState } from "react";
import type { BatchPlace } from "../../api/types";
import { Button } from "../../widgets/Button";

interface BatchPickerProps {
  /** The mask that is shown. */
  batch: BatchPlace;
  onPlace: (item: number, head: number) => void;
}

/** Which item and which head of a batch is shown. What is chosen shows at once; the picture follows. */
export function BatchPicker({ batch, onPlace }: BatchPickerProps) {
  const [wanted, setWanted] = useState({ item: batch.item, head: batch.head });
  // What the server shows counts again as soon as it has answered.
  useEffect(() => setWanted({ item: batch.item, head: batch.head }), [batch]);
  const choose = (item: number, head: number) => {
    setWanted({ item, head });
    onPlace(item, head);
  };
  return (
    <fieldset className="batch-picker">
      <legend className="visually-hidden">Mask of the batch</legend>
      {batch.num_items > 1 && (
        <Axis name="Item" size={batch.num_items} value={wanted.item} onChange={(item) => choose(item, wanted.head)} />
      )}
      {batch.num_heads > 1 && (
        <Axis name="Head" size={batch.num_heads} value={wanted.head} onChange={(head) => choose(wanted.item, head)} />
      )}
    </fieldset>
  );
}

interface AxisProps {
  name: "Item" | "Head";
  size: number;
  value: number;
  onChange: (value: number) => void;
}

/** Up to so many choices are a list; more are reached by steps and by typing. */
const LISTED = 256;

function Axis({ name, size, value, onChange }: AxisProps) {
  const word = name.toLowerCase();
  return (
    <span className="batch-axis">
      <Button
        small
        look="quiet"
        icon="left"
        aria-label={`Previous ${word}`}
        disabled={value === 0}
        onClick={() => onChange(value - 1)}
      />
      {size <= LISTED ? (
        <select aria-label={name} value={value} onChange={(event) => onChange(Number(event.target.value))}>
          {Array.from({ length: size }, (_, number) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the number is what is chosen
            <option key={number} value={number}>
              {name} {number}
            </option>
          ))}
        </select>
      ) : (
        <label>
          {name}{" "}
          <input
            type="number"
            min={0}
            max={size - 1}
            value={value}
            onChange={(event) => {
              const number = event.target.valueAsNumber;
              if (Number.isInteger(number) && number >= 0 && number < size) onChange(number);
            }}
          />
        </label>
      )}
      <span className="muted">of {size}</span>
      <Button
        small
        look="quiet"
        icon="right"
        aria-label={`Next ${word}`}
        disabled={value + 1 >= size}
        onClick={() => onChange(value + 1)}
      />
    </span>
  );
}
