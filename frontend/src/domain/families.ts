/** Masks of the gallery by what they are for. */

import type { Preset } from "../api/types";

export interface Family {
  family: string;
  presets: Preset[];
}

/** Families in the order in which the server lists their members. */
export function byFamily(presets: readonly Preset[]): Family[] {
  const families = new Map<string, Preset[]>();
  for (const preset of presets) {
    const members = families.get(preset.family) ?? [];
    members.push(preset);
    families.set(preset.family, members);
  }
  return [...families].map(([family, members]) => ({ family, presets: members }));
}
