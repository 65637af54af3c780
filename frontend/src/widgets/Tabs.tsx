import { type KeyboardEvent, type ReactNode, useRef } from "react";

export interface TabItem<T extends string> {
  id: T;
  label: string;
  extra?: ReactNode;
}

interface TabsProps<T extends string> {
  label: string;
  items: readonly TabItem<T>[];
  active: T;
  onSelect: (id: T) => void;
  /** Prefix of the ids of tabs and panels; a panel is `${name}-panel`. */
  name: string;
}

/** A list of tabs; arrow keys move between them. */
export function Tabs<T extends string>({ label, items, active, onSelect, name }: TabsProps<T>) {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = items.findIndex((item) => item.id === active);
    const next = (at + step + items.length) % items.length;
    const item = items[next];
    if (item) onSelect(item.id);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {items.map((item) => (
        <button
          key={item.id}
          type="button"
          role="tab"
          id={`${name}-tab-${item.id}`}
          aria-selected={item.id === active}
          aria-controls={`${name}-panel`}
          tabIndex={item.id === active ? 0 : -1}
          className="tab"
          onClick={() => onSelect(item.id)}
        >
          {item.label}
          {item.extra}
        </button>
      ))}
    </div>
  );
}
