import { type RefObject, useEffect, useRef } from "react";

/** Scrolls the row that holds what was chosen elsewhere into sight, once it is there. */
export function useLinkedRow(number: number | null, present: boolean): RefObject<HTMLTableRowElement | null> {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (number !== null && present) row.current?.scrollIntoView({ block: "nearest" });
  }, [number, present]);
  return row;
}
