import type { ColumnMeta } from "./columns";

/** A column's name in plain words. */
export function columnTitle(column: { header?: unknown; meta?: unknown; id?: string }): string {
  const named = (column.meta as ColumnMeta | undefined)?.title;
  return named ?? (typeof column.header === "string" ? column.header : (column.id ?? ""));
}
